import type { Lesson } from "../lesson";

const LATE: [number, number] = [40, 60];

export const aimd: Lesson = {
  name: "aimd",
  title: "AIMD and fairness",
  summary: "Why additive increase and multiplicative decrease bring two flows to equal shares.",
  text: [
    "In congestion avoidance Reno adds one segment to cwnd per round-trip time, and halves cwnd when a packet is lost (RFC 5681, sections 3.1 and 3.2): additive increase, multiplicative decrease (AIMD).",
    "Take two flows of one bottleneck with the windows x and y. An increase adds the same to both, so their difference stays. A loss that both see halves both, so their difference is halved too. After enough losses the windows are equal, whatever they were at first. Chiu and Jain (1989) prove that additive increase with multiplicative decrease leads to equal shares from any start, which the other three combinations of additive and multiplicative do not.",
    "Jain's index measures fairness: (sum of rates)² / (n x sum of squared rates). It is 1 if all n flows have the same rate, and 1/n if one has everything.",
  ],
  sources: [
    { label: "RFC 5681, sections 3.1 and 3.2", href: "https://www.rfc-editor.org/rfc/rfc5681#section-3.1" },
    {
      label: "Chiu and Jain, Analysis of the Increase and Decrease Algorithms for Congestion Avoidance, 1989",
      href: "https://doi.org/10.1016/0169-7552(89)90019-6",
    },
  ],
  docs: [
    { label: "The congestion control `reno`", href: "docs/algorithms/reno.md" },
    { label: "Metrics: Jain's index", href: "docs/metrics.md" },
  ],
  toml: `# Two Reno flows; the second one starts when the first has the link for itself.
title = "Two Reno flows on one bottleneck"
duration = "60 s"

# Base round-trip time 44 ms; bandwidth-delay product 55 kB, or 37 packets.
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "20 ms", queue = { limit = "37 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[tcp]
cc = "reno"
# The second flow has no slow start to speak of: additive increase alone brings it to its share.
initial_ssthresh = "6 kB"

[[flows]]
name = "first"
from = "s1"
to = "d1"

[[flows]]
name = "second"
from = "s2"
to = "d2"
start = "10 s"
`,
  question: "How long after its start does the second flow have its share, and which settings shorten that time?",
  steps: [
    "Read in the plot of cwnd after how many losses the two windows overlap.",
    "Set the delay of the bottleneck to 48 ms, a round-trip time of 100 ms. Watch the second flow between 15 and 20 s.",
    "Go back to 20 ms and set the congestion control of both flows to `cubic`. What share of its window does it keep after a loss, and what does that do to the time?",
  ],
  watch: [
    {
      label: "Second over first, 15 to 20 s",
      measure: { what: "ratio", flow: "second", to: "first", over: [15, 20] },
      unit: "",
    },
    {
      label: "Second over first, 40 to 60 s",
      measure: { what: "ratio", flow: "second", to: "first", over: LATE },
      unit: "",
    },
    { label: "Jain's index, 40 to 60 s", measure: { what: "jain", over: LATE }, unit: "" },
  ],
  hints: [
    "The increase is one segment per round-trip time: twice the round-trip time, half as many increases per second.",
    "CUBIC keeps 0.7 of its window at a loss (RFC 9438, section 4.6).",
    "Look at the difference of the two windows before and after each loss.",
  ],
  answer: [
    "Five to ten seconds after its start the second flow has {early} of the first flow's rate, between 40 and 60 s {late}: Jain's index is then {jain}.",
    "At a round-trip time of 100 ms the ratio between 15 and 20 s is {earlyLong}: an increase of one segment takes 100 ms, and losses are rarer. Between 40 and 60 s it is {lateLong}.",
    "CUBIC multiplies its window by 0.7 at a loss (RFC 9438, section 4.6). Each loss takes less off the difference, so fairness takes longer: the index between 40 and 60 s is {jainCubic}.",
    "With a queue that drops at its end, who loses a packet is a matter of phase: flows of the same round-trip time may meet a full queue in turns. A short path shows it: with a delay of 9 ms the index is {jainShort}.",
  ],
  checks: {
    early: {
      measure: { what: "ratio", flow: "second", to: "first", over: [15, 20] },
      value: 0.93,
      unit: "",
      tolerance: 0.005,
    },
    late: {
      measure: { what: "ratio", flow: "second", to: "first", over: LATE },
      value: 0.99,
      unit: "",
      tolerance: 0.005,
    },
    jain: { measure: { what: "jain", over: LATE }, value: 1.0, unit: "", tolerance: 0.00005 },
    earlyLong: {
      changes: { "topology.bottleneck.delay": "48 ms" },
      measure: { what: "ratio", flow: "second", to: "first", over: [15, 20] },
      value: 0.57,
      unit: "",
      tolerance: 0.005,
    },
    lateLong: {
      changes: { "topology.bottleneck.delay": "48 ms" },
      measure: { what: "ratio", flow: "second", to: "first", over: LATE },
      value: 1.0,
      unit: "",
      tolerance: 0.005,
    },
    jainCubic: {
      changes: { "tcp.cc": "cubic" },
      measure: { what: "jain", over: LATE },
      value: 0.86,
      unit: "",
      tolerance: 0.005,
    },
    jainShort: {
      changes: { "topology.bottleneck.delay": "9 ms" },
      measure: { what: "jain", over: LATE },
      value: 0.9,
      unit: "",
      tolerance: 0.005,
    },
  },
};
