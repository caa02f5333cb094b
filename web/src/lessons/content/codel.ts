import type { Lesson, Measure } from "../lesson";
import { goodput, lost } from "./measures.ts";

const OVER: [number, number] = [10, 30];
const KIND = "topology.bottleneck.queue.kind";
const call = (share: "p50" | "p95"): Measure => ({
  what: "total",
  table: "datagram_totals",
  column: `delay_${share}_ns`,
  of: "call",
});
const FAR = { [KIND]: "codel", "topology.bottleneck.delay": "148 ms" };

export const codel: Lesson = {
  name: "codel",
  title: "CoDel and FQ-CoDel",
  summary: "Control the time that packets wait instead of the length of the queue.",
  text: [
    "A queue that absorbs a burst and drains within a round-trip time does good. A queue that stands does harm: it adds delay and no throughput. CoDel (RFC 8289) tells the two apart by the smallest time that packets waited (sojourn time) during an interval, 100 ms. If it stays above the target, 5 ms, CoDel drops a packet, and then more often: the time to the next drop is the interval divided by the square root of the number of drops.",
    "CoDel needs neither the rate of the link nor the number of flows. Its interval should be about the largest round-trip time of the flows: a sender needs that long to react.",
    "FQ-CoDel (RFC 8290) hashes flows into sub-queues, runs CoDel in each, and serves them in turn. A flow that sends little, such as a call, has an empty sub-queue and is served first: it does not wait behind a download.",
  ],
  sources: [
    { label: "RFC 8289: Controlled Delay Active Queue Management", href: "https://www.rfc-editor.org/rfc/rfc8289" },
    { label: "RFC 8290: FQ-CoDel", href: "https://www.rfc-editor.org/rfc/rfc8290" },
    {
      label: "Nichols and Jacobson, Controlling Queue Delay, ACM Queue 10(5), 2012",
      href: "https://doi.org/10.1145/2208917.2209336",
    },
  ],
  docs: [
    { label: "The queue `codel`", href: "docs/queues/codel.md" },
    { label: "The queue `fq_codel`", href: "docs/queues/fq_codel.md" },
    { label: "Experiments on queues", href: "docs/aqm.md" },
  ],
  toml: `# A download by CUBIC beside a call, through a long queue.
title = "A download and a call through 1000 packets"
duration = "30 s"
sampling = "50 ms"

# Base round-trip time 50 ms; bandwidth-delay product 62.5 kB, or 42 packets.
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "23 ms", queue = { kind = "droptail", limit = "1000 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }

[tcp]
cc = "cubic"

[[flows]]
name = "download"
from = "s1"
to = "d1"
start = "5 s"

# 50 datagrams of 172 bytes a second. Their least one-way delay is 25 ms.
[[flows]]
name = "call"
kind = "udp"
from = "s2"
to = "d2"
rate = "69 kb/s"
payload = "172 B"
`,
  question:
    "What does each discipline do for the call, and what does the download pay for it? Where does CoDel's default interval not fit?",
  steps: [
    "Note the delay of the call with drop-tail.",
    "Set the queue discipline of the bottleneck to `codel`, then to `fq_codel`. Watch the delay of the call, and the plot of the queue.",
    'With `codel`, set the delay of the bottleneck to 148 ms, a round-trip time of 300 ms. What happens to the download? Then set `interval = "300 ms"` and `target = "15 ms"`.',
  ],
  watch: [
    { label: "One-way delay of the call, median", measure: call("p50"), unit: "ms" },
    { label: "One-way delay of the call, 95th percentile", measure: call("p95"), unit: "ms" },
    { label: "Packets of the call lost", measure: lost("call"), unit: "packets" },
    { label: "Goodput of the download", measure: goodput("download", OVER), unit: "Mb/s" },
  ],
  hints: [
    "The call's packets wait in the same queue as the download's, unless the queue keeps flows apart.",
    "A sender whose round-trip time is three intervals hears of the first drop when CoDel has dropped several times more.",
  ],
  answer: [
    "With drop-tail half of the call's packets need more than {tail}, and {tailLost} are lost. With CoDel 95 % of them arrive within {codel}, with FQ-CoDel within {fq}, and {fqLost} are lost.",
    "The download pays a little: its goodput is {downloadTail} with drop-tail, {downloadCodel} with CoDel and {downloadFq} with FQ-CoDel. One CUBIC flow alone cannot use 5 ms of queue to bridge its reductions; several flows together can.",
    "At a round-trip time of 300 ms CoDel drops before the sender has reacted, and the download gets {far}. With an interval of 300 ms and a target of 15 ms it gets {farFit}.",
  ],
  checks: {
    tail: { measure: call("p50"), value: 684, unit: "ms", tolerance: 5 },
    tailLost: { measure: lost("call"), value: 24, unit: "packets", tolerance: 0 },
    codel: { changes: { [KIND]: "codel" }, measure: call("p95"), value: 32, unit: "ms", tolerance: 0.5 },
    fq: { changes: { [KIND]: "fq_codel" }, measure: call("p95"), value: 27, unit: "ms", tolerance: 0.5 },
    fqLost: { changes: { [KIND]: "fq_codel" }, measure: lost("call"), value: 0, unit: "packets", tolerance: 0 },
    downloadTail: { measure: goodput("download", OVER), value: 9.6, unit: "Mb/s", tolerance: 0.05 },
    downloadCodel: {
      changes: { [KIND]: "codel" },
      measure: goodput("download", OVER),
      value: 8.9,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    downloadFq: {
      changes: { [KIND]: "fq_codel" },
      measure: goodput("download", OVER),
      value: 8.9,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    far: { changes: FAR, measure: goodput("download", OVER), value: 6.0, unit: "Mb/s", tolerance: 0.05 },
    farFit: {
      changes: {
        ...FAR,
        "topology.bottleneck.queue.interval": "300 ms",
        "topology.bottleneck.queue.target": "15 ms",
      },
      measure: goodput("download", OVER),
      value: 8.6,
      unit: "Mb/s",
      tolerance: 0.05,
    },
  },
};
