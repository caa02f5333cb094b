import type { Lesson, Measure } from "../lesson";
import { goodput, ratio, rtt } from "./measures.ts";

const OVER: [number, number] = [5, 15];
const RATIO = ratio("l4s", "classic", OVER);
const wait = (queue: string, share: "p50" | "p99"): Measure => ({
  what: "total",
  table: "subqueue_totals",
  column: `delay_${share}_ns`,
  of: `r1->r2/${queue}`,
});
const SINGLE = { "topology.bottleneck.queue.kind": "droptail" };

export const l4s: Lesson = {
  name: "l4s",
  title: "L4S: two queues, one capacity",
  summary: "A scalable sender with less than a millisecond of queue, beside CUBIC on the same link.",
  text: [
    "DCTCP keeps queues short, but cannot share one with CUBIC: it reduces less for each mark. L4S (RFC 9330) separates the two. Packets with ECT(1) go to a queue of their own, which marks from a sojourn time of 1 ms on. Classic packets go to the other queue, under an AQM that accepts 15 ms.",
    "The queues are coupled (DualPI2, RFC 9332). The classic queue drops with the probability p². The L4S queue marks with at least k p. A classic sender's rate goes with 1 / sqrt(drop probability), that is 1 / p; a scalable sender's rate goes with 1 / mark probability, that is 1 / (k p). So both get about the same, with k = 2, though L4S packets are served first.",
    "Prague is a sender for L4S: DCTCP's response over accurate ECN feedback (RFC 9768), paced, with the response of Reno where the peer has no such feedback.",
  ],
  sources: [
    { label: "RFC 9330: the L4S architecture", href: "https://www.rfc-editor.org/rfc/rfc9330" },
    { label: "RFC 9332: Dual-Queue Coupled AQM", href: "https://www.rfc-editor.org/rfc/rfc9332" },
    { label: "RFC 9331: the ECN protocol of L4S", href: "https://www.rfc-editor.org/rfc/rfc9331" },
  ],
  docs: [
    { label: "L4S", href: "docs/l4s.md" },
    { label: "The queue `dualpi2`", href: "docs/queues/dualpi2.md" },
    { label: "The congestion control `prague`", href: "docs/algorithms/prague.md" },
  ],
  toml: `# An L4S flow and a CUBIC flow over DualPI2.
title = "L4S beside CUBIC over DualPI2"
duration = "15 s"
start_jitter = "100 ms"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "40 Mb/s", delay = "4 ms", queue = { kind = "dualpi2", limit = "2000 packets" } }
access = { rate = "1 Gb/s", delay = "500 us", queue = { limit = "10000 packets" } }

[tcp]
stack = "linux"

# Prague implies accurate ECN feedback and ECT(1).
[[flows]]
name = "l4s"
from = "s1"
to = "d1"
tcp = { cc = "prague" }

[[flows]]
name = "classic"
from = "s2"
to = "d2"
cc = "cubic"
`,
  question:
    "How long do the packets of each flow wait, and what holds the two rates together? Change it and see them part.",
  steps: [
    "Compare the waiting times of the two queues, and the rates.",
    "Set `coupling = 1` in the bottleneck's queue, then `coupling = 4`.",
    'Set the first flow to `tcp = { cc = "dctcp", ecn = true }`: without ECT(1) it is in the classic queue, with CUBIC.',
    "Go back to Prague and set the queue discipline to drop-tail. Which queue is left?",
  ],
  watch: [
    { label: "L4S over classic, 5 to 15 s", measure: RATIO, unit: "" },
    { label: "Wait in the L4S queue, median", measure: wait("l4s", "p50"), unit: "ms" },
    { label: "Wait in the L4S queue, 99th percentile", measure: wait("l4s", "p99"), unit: "ms" },
    { label: "Wait in the classic queue, median", measure: wait("classic", "p50"), unit: "ms" },
    { label: "RTT of the L4S flow", measure: rtt("l4s", OVER), unit: "ms" },
    { label: "RTT of the classic flow", measure: rtt("classic", OVER), unit: "ms" },
  ],
  hints: [
    "The coupling factor k says how many times p the L4S queue marks.",
    "A scalable sender reduces by half of the marked share; CUBIC by 0.3 for each mark or loss.",
  ],
  answer: [
    "Half of the L4S packets wait {l4sWait} or less, nearly all of them (99 %) {l4sWorst} or less; half of the classic ones wait more than {classicWait}. The L4S flow has {ratio} of the classic flow's rate ({l4s} and {classic}).",
    "The coupling holds the rates together: with k = 1 the ratio is {k1}, with k = 4 it is {k4}.",
    "DCTCP in the classic queue gets {dctcp} times the rate of CUBIC: the same marks mean less to it. In a single drop-tail queue the L4S flow has a mean round-trip time of {tailRtt}, both flows lose packets, and the shares are {tail} to 1.",
  ],
  checks: {
    l4sWait: { measure: wait("l4s", "p50"), value: 0.44, unit: "ms", tolerance: 0.005 },
    l4sWorst: { measure: wait("l4s", "p99"), value: 0.75, unit: "ms", tolerance: 0.005 },
    classicWait: { measure: wait("classic", "p50"), value: 15.1, unit: "ms", tolerance: 0.05 },
    ratio: { measure: RATIO, value: 0.88, unit: "", tolerance: 0.005 },
    l4s: { measure: goodput("l4s", OVER), value: 18.1, unit: "Mb/s", tolerance: 0.05 },
    classic: { measure: goodput("classic", OVER), value: 20.5, unit: "Mb/s", tolerance: 0.05 },
    k1: {
      changes: { "topology.bottleneck.queue.coupling": "1" },
      measure: RATIO,
      value: 1.8,
      unit: "",
      tolerance: 0.05,
    },
    k4: {
      changes: { "topology.bottleneck.queue.coupling": "4" },
      measure: RATIO,
      value: 0.52,
      unit: "",
      tolerance: 0.005,
    },
    dctcp: {
      changes: { "flows[0].tcp": '{ cc = "dctcp", ecn = true }' },
      measure: RATIO,
      value: 32,
      unit: "",
      tolerance: 0.5,
    },
    tailRtt: { changes: SINGLE, measure: rtt("l4s", OVER), value: 324, unit: "ms", tolerance: 0.5 },
    tail: { changes: SINGLE, measure: RATIO, value: 15, unit: "", tolerance: 0.5 },
  },
};
