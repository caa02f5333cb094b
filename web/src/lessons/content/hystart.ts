import type { Lesson, Measure } from "../lesson";
import { lost } from "./measures.ts";

const SHORT = { "topology.bottleneck.queue.limit": "67 packets" };
const start = (name: string): Record<string, string> => ({ "tcp.slow_start": name });
const LARGEST: Measure = { what: "cwnd", flow: "flow", take: "max", over: [0, 2] };

export const hystart: Lesson = {
  name: "hystart",
  title: "HyStart++: leaving slow start in time",
  summary: "Rising round-trip times tell that the queue grows, before a packet is lost.",
  text: [
    "Slow start ends with the loss of about as many packets as the path and its queue hold. But before the queue overflows it grows, and while it grows the round-trip time rises. HyStart (Ha and Rhee 2011) leaves slow start when the round-trip time rises, or when the ACKs of a round span half a round-trip time.",
    "HyStart++ (RFC 9406) compares the smallest round-trip time of a round with that of the round before. If it has risen by 4 to 16 ms, cwnd grows by a quarter per round instead of doubling: Conservative Slow Start. If the round-trip time falls again, the rise was jitter, and slow start goes on. After five rounds slow start ends, with ssthresh at the present cwnd.",
    "It needs time: the round-trip time of a round is known when its ACKs have come, and by then cwnd has doubled again. A queue that overflows within a round or two gives no warning in time.",
  ],
  sources: [
    { label: "RFC 9406: HyStart++", href: "https://www.rfc-editor.org/rfc/rfc9406" },
    {
      label: "Ha and Rhee, Taming the Elephants: New TCP Slow Start, Computer Networks 55(9), 2011",
      href: "https://doi.org/10.1016/j.comnet.2011.01.014",
    },
    { label: "RFC 3742: limited slow start", href: "https://www.rfc-editor.org/rfc/rfc3742" },
  ],
  docs: [{ label: "Slow start and its variants", href: "docs/slow-start.md" }],
  toml: `# One Reno flow through a long queue; tcp.slow_start says when it leaves slow start.
title = "Slow start through a queue of eight bandwidth-delay products"
duration = "4 s"
sampling = "5 ms"

# Bandwidth-delay product: 20 Mb/s x 40 ms = 100 kB, or 67 packets; the queue holds eight times that.
[topology]
kind = "dumbbell"
bottleneck = { rate = "20 Mb/s", delay = "18 ms", queue = { limit = "532 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }

[tcp]
stack = "linux"
cc = "reno"
slow_start = "standard"

[[flows]]
name = "flow"
from = "s1"
to = "d1"
`,
  question:
    "Which of `hystart` and `hystart++` avoids the losses with this queue, and which of them still does with a queue of one bandwidth-delay product?",
  steps: [
    'Note the lost packets with `slow_start = "standard"`.',
    "Set `hystart++`, then `hystart`. Compare the largest cwnd, and look at the round-trip time: how much of the queue does each use?",
    "Set the buffer to 67 packets and repeat. Read cwnd after 0.5 s in each case.",
  ],
  watch: [
    { label: "Packets lost", measure: lost("flow"), unit: "packets" },
    { label: "Largest cwnd, first 2 s", measure: LARGEST, unit: "kB" },
    { label: "Goodput", measure: { what: "goodput", flow: "flow" }, unit: "Mb/s" },
  ],
  hints: [
    "The bandwidth-delay product is 100 kB. A cwnd near it uses the link and leaves the queue empty.",
    "How many round-trip times lie between the first waiting packet and the first lost one, with each queue?",
  ],
  answer: [
    "With 532 packets standard slow start reaches a cwnd of {standardCwnd} and loses {standard}. HyStart++ reaches {plusCwnd} and loses {plus}; HyStart leaves by the length of the ACK train, at a cwnd close to the bandwidth-delay product ({hystartCwnd} after 0.5 s), and loses {hystart}.",
    "With 67 packets HyStart++ sees the rise too late and loses {plusShort}; standard slow start loses {standardShort}. HyStart loses {hystartShort}, since it does not wait for the delay to rise.",
    "HyStart++ goes by the delay alone: the test of the ACK train does not work well where ACKs come in bunches (RFC 9406).",
  ],
  checks: {
    standardCwnd: { measure: LARGEST, value: 1736, unit: "kB", tolerance: 1 },
    standard: { measure: lost("flow"), value: 601, unit: "packets", tolerance: 0 },
    plusCwnd: { changes: start("hystart++"), measure: LARGEST, value: 642, unit: "kB", tolerance: 1 },
    plus: { changes: start("hystart++"), measure: lost("flow"), value: 0, unit: "packets", tolerance: 0 },
    hystartCwnd: {
      changes: start("hystart"),
      measure: { what: "cwnd", flow: "flow", at: 0.5 },
      value: 116,
      unit: "kB",
      tolerance: 1,
    },
    hystart: { changes: start("hystart"), measure: lost("flow"), value: 0, unit: "packets", tolerance: 0 },
    plusShort: {
      changes: { ...start("hystart++"), ...SHORT },
      measure: lost("flow"),
      value: 47,
      unit: "packets",
      tolerance: 0,
    },
    standardShort: { changes: SHORT, measure: lost("flow"), value: 137, unit: "packets", tolerance: 0 },
    hystartShort: {
      changes: { ...start("hystart"), ...SHORT },
      measure: lost("flow"),
      value: 0,
      unit: "packets",
      tolerance: 0,
    },
  },
};
