import type { Lesson, Measure } from "../lesson";

const RACK = { "tcp.recovery": "rack" };
const TAIL = {
  "flows[0].size": "14 kB",
  "topology.bottleneck.queue.limit": "6 packets",
  "topology.bottleneck.forward.reorder": "false",
};
const total = (column: string): Measure => ({ what: "total", table: "flow_totals", column, of: "flow" });
const GOODPUT: Measure = { what: "goodput", flow: "flow" };

export const rack: Lesson = {
  name: "rack",
  title: "Loss recovery: RACK-TLP",
  summary: "Losses told by time instead of by the number of duplicate ACKs, and a probe for the tail of a transfer.",
  text: [
    "A sender with SACK takes a segment for lost when three later segments have arrived (RFC 6675, DupThresh). The rule has two faults. On a path that reorders packets, a segment that is merely late looks lost: the sender retransmits it and reduces cwnd for nothing. And if the last segments of a transfer are lost, nothing arrives after them: only the retransmission timer helps, and it waits for long.",
    "RACK (RFC 8985) goes by time: a segment is lost if one that was sent later has arrived, and a reordering window has passed besides. The window begins at a quarter of the smallest round-trip time and widens when a retransmission proves unnecessary.",
    "TLP, the tail loss probe, sends a segment again two round-trip times after the last one if no ACK came. Its ACK shows what is missing, and recovery begins without the timer.",
  ],
  sources: [
    { label: "RFC 8985: RACK-TLP", href: "https://www.rfc-editor.org/rfc/rfc8985" },
    { label: "RFC 6675: loss recovery based on SACK", href: "https://www.rfc-editor.org/rfc/rfc6675" },
    { label: "RFC 6298: the retransmission timer", href: "https://www.rfc-editor.org/rfc/rfc6298" },
  ],
  docs: [
    { label: "What Narrows implements of the RFCs", href: "docs/rfc.md" },
    { label: "Settings of loss recovery", href: "docs/scenario.md" },
  ],
  toml: `# A download over a link that reorders: one packet in fifty falls behind by 8 ms.
title = "Loss recovery on a link that reorders packets"
duration = "30 s"
sampling = "50 ms"

# At 10 Mb/s up to six packets overtake one that falls behind.
[topology]
kind = "dumbbell"
access = { rate = "1 Gb/s", delay = "1 ms" }

[topology.bottleneck]
rate = "10 Mb/s"
delay = "18 ms"
queue = { limit = "50 packets" }
forward.reorder = { delay = "8 ms", probability = "2 %", selected = "behind" }

[tcp]
stack = "linux"
cc = "reno"
recovery = "sack"

[[flows]]
name = "flow"
from = "s1"
to = "d1"
`,
  question:
    'How many of the fast retransmits were unnecessary, and what does `recovery = "rack"` change? How long does a transfer wait for the timer if its last packets are lost?',
  steps: [
    "Compare fast retransmits, lost packets, and reductions that were undone as spurious.",
    'Set `recovery = "rack"` in `[tcp]`.',
    'Now the tail: set `size = "14 kB"` of the flow, a buffer of 6 packets, and `forward.reorder = false`. Ten segments leave at once, and the last three are lost. Compare the time that the transfer takes with `sack` and with `rack`.',
  ],
  watch: [
    { label: "Entries into fast recovery", measure: total("fast_retransmits"), unit: "" },
    { label: "Reductions undone as spurious", measure: total("spurious"), unit: "" },
    { label: "Packets lost", measure: total("lost_packets"), unit: "packets" },
    { label: "Goodput", measure: GOODPUT, unit: "Mb/s" },
    { label: "Transfer finished after", measure: total("finished_ns"), unit: "ms" },
  ],
  hints: [
    "Linux notices by timestamps and D-SACK that a retransmission was unnecessary, and restores cwnd. Time and capacity are lost meanwhile.",
    "The timer of Linux waits at least 200 ms, that of RFC 6298 one second.",
  ],
  answer: [
    "With `sack` the flow enters fast recovery {sackEntries} times; {sackSpurious} of these reductions were undone as spurious. Its goodput is {sackGoodput}. With `rack` there are {rackEntries} entries, {rackSpurious} of them spurious: the others are losses of the queue. The goodput is {rackGoodput}.",
    "The transfer whose last three packets are lost takes {tailSack} with `sack`, {tailTimeouts} timeout included. With `rack` the probe brings the SACK after two round-trip times, and it takes {tailRack} without a timeout.",
  ],
  checks: {
    sackEntries: { measure: total("fast_retransmits"), value: 429, unit: "", tolerance: 0 },
    sackSpurious: { measure: total("spurious"), value: 414, unit: "", tolerance: 0 },
    sackGoodput: { measure: GOODPUT, value: 8.7, unit: "Mb/s", tolerance: 0.05 },
    rackEntries: { changes: RACK, measure: total("fast_retransmits"), value: 12, unit: "", tolerance: 0 },
    rackSpurious: { changes: RACK, measure: total("spurious"), value: 1, unit: "", tolerance: 0 },
    rackGoodput: { changes: RACK, measure: GOODPUT, value: 9.5, unit: "Mb/s", tolerance: 0.05 },
    tailSack: { changes: TAIL, measure: total("finished_ns"), value: 395, unit: "ms", tolerance: 1 },
    tailTimeouts: { changes: TAIL, measure: total("timeouts"), value: 1, unit: "", tolerance: 0 },
    tailRack: { changes: { ...RACK, ...TAIL }, measure: total("finished_ns"), value: 281, unit: "ms", tolerance: 1 },
  },
};
