import type { Lesson } from "../lesson";
import { goodput, ratio, rtt } from "./measures.ts";

const OVER: [number, number] = [10, 60];
const RATIO = ratio("short", "long", OVER);
const FQ = { "topology.bottleneck.queue": '{ kind = "fq_codel", limit = "1000 packets" }' };

export const rttUnfairness: Lesson = {
  name: "rtt-unfairness",
  title: "RTT unfairness",
  summary: "Why a flow with a short round-trip time gets more than one with a long one.",
  text: [
    "Reno adds one segment to cwnd per round-trip time. A flow with a base round-trip time of 20 ms does so four times as often as one of 80 ms. And the same window is a higher rate on the shorter path, since the rate is cwnd / RTT.",
    "For losses that strike both flows alike, Reno's rate goes with 1 / RTT (Mathis and others 1997). Where flows lose packets together, at a queue that drops at its end, the exponent is larger, up to 2 (Lakshman and Madhow 1997). A queue adds the same delay to both and makes the ratio of their round-trip times smaller.",
    "CUBIC's window grows with the time since the last loss, not with the number of round-trip times (RFC 9438, section 4.2). BBR has a window of about two bandwidth-delay products, which is larger on the longer path.",
  ],
  sources: [
    {
      label: "Mathis, Semke, Mahdavi and Ott, The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, 1997",
      href: "https://doi.org/10.1145/263932.264023",
    },
    {
      label: "Lakshman and Madhow, The Performance of TCP/IP for Networks with High Bandwidth-Delay Products, 1997",
      href: "https://doi.org/10.1109/90.611099",
    },
    { label: "RFC 9438, section 4.2: CUBIC's window", href: "https://www.rfc-editor.org/rfc/rfc9438#section-4.2" },
  ],
  docs: [
    { label: "The congestion control `cubic`", href: "docs/algorithms/cubic.md" },
    { label: "The congestion control `bbr`", href: "docs/algorithms/bbr.md" },
    { label: "The queue `fq_codel`", href: "docs/queues/fq_codel.md" },
  ],
  toml: `# Two Reno flows that differ only in their base round-trip time: 20 and 80 ms.
title = "Round-trip times of 20 and 80 ms on one bottleneck"
duration = "60 s"
start_jitter = "1 s"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "8 ms", queue = { limit = "50 packets" } }
# A list gives each pair its own access links. A packet crosses two of them on its way, and two on the way back.
access = [
  { rate = "100 Mb/s", delay = "1 ms" },
  { rate = "100 Mb/s", delay = "16 ms" },
]

[tcp]
cc = "reno"

[[flows]]
name = "short"
from = "s1"
to = "d1"

[[flows]]
name = "long"
from = "s2"
to = "d2"
`,
  question:
    "The round-trip times differ by a factor of four. By what factor do the rates differ, and what changes it most: the congestion control, the length of the queue, or its discipline?",
  steps: [
    "Note the ratio of the rates and the round-trip times, queue included.",
    "Set the buffer of the bottleneck to 10 packets, then to 150.",
    "Go back to 50 packets and set the congestion control of both flows to `cubic`, then to `bbr`.",
    "Go back to `reno` and set the queue discipline to FQ-CoDel with a buffer of 1000 packets.",
  ],
  watch: [
    { label: "Short over long, 10 to 60 s", measure: RATIO, unit: "" },
    { label: "RTT of short, mean", measure: rtt("short", OVER), unit: "ms" },
    { label: "RTT of long, mean", measure: rtt("long", OVER), unit: "ms" },
  ],
  hints: [
    "Compute the ratio of the two round-trip times with the queue. Is the ratio of the rates nearer to it, or to its square?",
    "With a discipline that gives each flow its own sub-queue, who decides how much each flow gets?",
  ],
  answer: [
    "With 50 packets the short flow gets {reno} times the rate of the long one ({renoShort} against {renoLong}): the round-trip times with the queue are {rttShort} and {rttLong}, a factor of about two, so the ratio of the rates is near its square.",
    "With 10 packets the factor is {short}: the queue adds little, and the round-trip times differ by more. With 150 packets it is {long}: the queue adds so much to both round-trip times that they differ by less than a half.",
    "With CUBIC the factor is {cubic}. With BBR it turns round: {bbr}, since the longer path allows more data in flight.",
    "FQ-CoDel serves the flows in turn, and each loses packets by its own queue: the factor is {fq}. It is not 1, since the long flow cannot always fill its share after a loss.",
  ],
  checks: {
    reno: { measure: RATIO, value: 3.9, unit: "", tolerance: 0.05 },
    renoShort: { measure: goodput("short", OVER), value: 7.7, unit: "Mb/s", tolerance: 0.05 },
    renoLong: { measure: goodput("long", OVER), value: 2.0, unit: "Mb/s", tolerance: 0.05 },
    rttShort: { measure: rtt("short", OVER), value: 62, unit: "ms", tolerance: 0.5 },
    rttLong: { measure: rtt("long", OVER), value: 122, unit: "ms", tolerance: 0.5 },
    short: {
      changes: { "topology.bottleneck.queue.limit": "10 packets" },
      measure: RATIO,
      value: 12.2,
      unit: "",
      tolerance: 0.05,
    },
    long: {
      changes: { "topology.bottleneck.queue.limit": "150 packets" },
      measure: RATIO,
      value: 1.8,
      unit: "",
      tolerance: 0.05,
    },
    cubic: { changes: { "tcp.cc": "cubic" }, measure: RATIO, value: 2.4, unit: "", tolerance: 0.05 },
    bbr: { changes: { "tcp.cc": "bbr" }, measure: RATIO, value: 0.29, unit: "", tolerance: 0.005 },
    fq: { changes: FQ, measure: RATIO, value: 1.4, unit: "", tolerance: 0.05 },
  },
};
