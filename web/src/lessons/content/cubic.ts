import type { Lesson, Measure } from "../lesson";
import { goodput } from "./measures.ts";

const PERIOD: Measure = { what: "between", flow: "flow", after: [18, 34] };
const cwnd = (at: number): Measure => ({ what: "cwnd", flow: "flow", at });
const K: Measure = { what: "state", flow: "flow", variable: "k", at: 20 };
const SHORT = { "topology.bottleneck.delay": "23 ms" };

export const cubic: Lesson = {
  name: "cubic",
  title: "CUBIC's curve",
  summary: "A window that depends on the time since the last loss: concave, flat, then convex.",
  text: [
    "Reno needs W/2 round-trip times to regain a window of W segments after a loss. On a path of 1 Gb/s and 100 ms that is more than 6 minutes. CUBIC (RFC 9438) replaces the straight line by a cubic function of the time t since the last loss: W(t) = C (t - K)³ + W_max, with C = 0.4 segments/s³.",
    "W_max is the window at which the loss came. After the loss the window is 0.7 W_max and rises steeply, becomes flat near W_max, where the capacity probably is, and then rises faster and faster to look for more. K is the time until the curve reaches W_max again: K³ = (W_max - cwnd) / C, both in segments (section 4.2).",
    "The curve depends on time alone. Where Reno would be faster, on short paths, CUBIC follows an estimate of Reno's window instead (section 4.3).",
  ],
  sources: [
    { label: "RFC 9438, sections 4.1 to 4.7", href: "https://www.rfc-editor.org/rfc/rfc9438#section-4" },
    {
      label: "Ha, Rhee and Xu, CUBIC: A New TCP-Friendly High-Speed TCP Variant, 2008",
      href: "https://doi.org/10.1145/1400097.1400105",
    },
  ],
  docs: [
    { label: "The congestion control `cubic`", href: "docs/algorithms/cubic.md" },
    { label: "The congestion control `reno`", href: "docs/algorithms/reno.md" },
  ],
  toml: `# One CUBIC flow on a path whose windows are large enough to see the curve.
title = "CUBIC alone on 20 Mb/s and 100 ms"
duration = "60 s"
sampling = { interval = "50 ms", state = true }

# Bandwidth-delay product: 20 Mb/s x 100 ms = 250 kB, or 167 packets; the queue holds as much again.
[topology]
kind = "dumbbell"
bottleneck = { rate = "20 Mb/s", delay = "48 ms", queue = { limit = "167 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }

[[flows]]
name = "flow"
from = "s1"
to = "d1"
cc = "cubic"
`,
  question:
    "How long does the window stay near W_max, and does the time between two losses depend on the round-trip time?",
  steps: [
    "Find in the plot of cwnd the concave part, the flat part and the convex part between two losses.",
    "Compare cwnd at 19 s and at 23 s. Read K at 20 s in the plot of the control's state. Compute it from W_max and the window after the loss.",
    "Set the congestion control to `reno` and compare the time between losses.",
    "Go back to `cubic` and set the delay of the bottleneck to 23 ms, half of the round-trip time.",
  ],
  watch: [
    { label: "First loss after 2 s", measure: { what: "grows_until", flow: "flow", after: 2 }, unit: "s" },
    { label: "From the first loss after 18 s to the first after 34 s", measure: PERIOD, unit: "s" },
    { label: "K at 20 s", measure: K, unit: "s" },
    { label: "Goodput, 5 to 60 s", measure: goodput("flow", [5, 60]), unit: "Mb/s" },
  ],
  hints: [
    "K³ = (W_max - cwnd after the loss) / 0.4, both in segments of 1448 bytes.",
    "If a loss comes below the W_max of the one before, CUBIC lowers W_max further, to leave room for others: fast convergence (RFC 9438, section 4.7). Losses then alternate between two distances.",
    "Reno's window rises by one segment per round-trip time. What is the round-trip time when the queue is full?",
  ],
  answer: [
    "Between 19 and 23 s cwnd moves from {flat1} to {flat2} only: the window stays near W_max for several seconds. K at 20 s is {k}: counted from the loss at {loss}, the curve reaches W_max in the middle of this stretch.",
    "The losses come in pairs, by fast convergence. Two distances together, from the first loss after 18 s to the first after 34 s, are {period}.",
    "With half of the round-trip time they are {periodShort}: K depends on the window in segments, by its cube root, and not on the round-trip time. Reno's single distance is {periodReno} here, and {periodRenoShort} with half of the round-trip time: it counts round-trip times.",
  ],
  checks: {
    flat1: { measure: cwnd(19), value: 410, unit: "kB", tolerance: 0.5 },
    flat2: { measure: cwnd(23), value: 420, unit: "kB", tolerance: 0.5 },
    loss: {
      measure: { what: "grows_until", flow: "flow", after: 14 },
      value: 15.6,
      unit: "s",
      tolerance: 0.05,
    },
    k: { measure: K, value: 5.0, unit: "s", tolerance: 0.05 },
    period: { measure: PERIOD, value: 14.9, unit: "s", tolerance: 0.05 },
    periodShort: { changes: SHORT, measure: PERIOD, value: 13.5, unit: "s", tolerance: 0.05 },
    periodReno: {
      changes: { "flows[0].cc": "reno" },
      measure: { what: "between", flow: "flow", after: [10, 20] },
      value: 25.7,
      unit: "s",
      tolerance: 0.05,
    },
    periodRenoShort: {
      changes: { "flows[0].cc": "reno", ...SHORT },
      measure: { what: "between", flow: "flow", after: [20, 30] },
      value: 14.7,
      unit: "s",
      tolerance: 0.05,
    },
  },
};
