import type { Lesson } from "../lesson";

export const slowStart: Lesson = {
  name: "slow-start",
  title: "Slow start",
  summary: "How a flow finds the capacity of a path that it does not know, and what the search costs.",
  text: [
    "A sender does not know how much a path can carry. It begins with an initial window of ten segments (RFC 6928) and adds one segment for each segment that is acknowledged. cwnd then doubles per round-trip time, until a packet is lost or cwnd reaches ssthresh (RFC 5681, section 3.1).",
    "A path holds its bandwidth-delay product (BDP): here 20 Mb/s x 40 ms = 100 kB. What exceeds the BDP waits in the bottleneck's queue. When the queue is full, the next packet is dropped, but the sender learns of it one round-trip time later. In the meantime cwnd doubles once more.",
    "So slow start ends with cwnd near twice what the path and its queue can hold, and about as much as they hold is lost.",
  ],
  sources: [
    {
      label: "RFC 5681, section 3.1: slow start and congestion avoidance",
      href: "https://www.rfc-editor.org/rfc/rfc5681#section-3.1",
    },
    { label: "RFC 6928: an initial window of ten segments", href: "https://www.rfc-editor.org/rfc/rfc6928" },
    { label: "Jacobson, Congestion Avoidance and Control, SIGCOMM 1988", href: "https://doi.org/10.1145/52324.52356" },
  ],
  docs: [
    { label: "Slow start and its variants", href: "docs/slow-start.md" },
    { label: "The congestion control `reno`", href: "docs/algorithms/reno.md" },
  ],
  toml: `# One Reno flow finds the capacity of a path by slow start.
title = "Slow start on a path of 20 Mb/s and 40 ms"
duration = "4 s"
sampling = "5 ms"

# Base round-trip time: 2 x (1 + 18 + 1) ms = 40 ms. Bandwidth-delay product: 100 kB, or 67 packets of 1500 bytes.
[topology]
kind = "dumbbell"
bottleneck = { rate = "20 Mb/s", delay = "18 ms", queue = { limit = "67 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }

# As Linux does: an initial window of ten segments, and slow start that counts every acknowledged segment.
[tcp]
stack = "linux"
cc = "reno"

[[flows]]
name = "flow"
from = "s1"
to = "d1"
`,
  question:
    "Guess first: if the queue is four times as long, does the end of slow start cost fewer lost packets, or more? Then try it.",
  steps: [
    "Read in the plot of cwnd when slow start ends, and how large cwnd is then.",
    "Set the buffer of the bottleneck to 268 packets. Watch the lost packets and the largest cwnd.",
    'Go back to a buffer of 67 packets and set `slow_start = "limited"` in `[tcp]`. What gets better?',
    'Set `stack = "rfc"`: delayed ACKs, and an increase of one segment for each ACK. By what factor does cwnd grow per round-trip time then?',
  ],
  watch: [
    {
      label: "cwnd falls for the first time after",
      measure: { what: "grows_until", flow: "flow", after: 0.2 },
      unit: "s",
    },
    { label: "Largest cwnd", measure: { what: "cwnd", flow: "flow", take: "max" }, unit: "kB" },
    {
      label: "Packets lost",
      measure: { what: "total", table: "flow_totals", column: "lost_packets", of: "flow" },
      unit: "packets",
    },
    { label: "Goodput", measure: { what: "goodput", flow: "flow" }, unit: "Mb/s" },
  ],
  hints: [
    "cwnd doubles per round-trip time. How large is it when the queue overflows, and how large one round-trip time later?",
    "The round-trip time grows with the queue: the longer the queue, the longer each doubling takes.",
  ],
  answer: [
    "More. With a queue of 67 packets slow start ends after {ends}: cwnd has reached {largest}, and {lost} are lost. With 268 packets cwnd reaches {largestLong} and {lostLong} are lost. The path and its queue are full when cwnd is BDP plus queue, and cwnd has doubled again before the first loss is seen.",
    "The longer queue also delays the signal: slow start ends after {endsLong}, since the doublings happen at a round-trip time that the queue has lengthened.",
    "Limited slow start (RFC 3742) adds at most half of its 100 segments per round-trip time once cwnd is above 100 segments. It loses {lostLimited} instead of {lost}.",
    'With `stack = "rfc"` one ACK covers two segments and adds one, so cwnd grows by half per round-trip time. It reaches {largestRfc}, and {lostRfc} are lost.',
  ],
  checks: {
    ends: { measure: { what: "grows_until", flow: "flow", after: 0.2 }, value: 0.32, unit: "s", tolerance: 0.01 },
    largest: { measure: { what: "cwnd", flow: "flow", take: "max" }, value: 387, unit: "kB", tolerance: 1 },
    lost: {
      measure: { what: "total", table: "flow_totals", column: "lost_packets", of: "flow" },
      value: 137,
      unit: "packets",
      tolerance: 0,
    },
    largestLong: {
      changes: { "topology.bottleneck.queue.limit": "268 packets" },
      measure: { what: "cwnd", flow: "flow", take: "max" },
      value: 966,
      unit: "kB",
      tolerance: 1,
    },
    lostLong: {
      changes: { "topology.bottleneck.queue.limit": "268 packets" },
      measure: { what: "total", table: "flow_totals", column: "lost_packets", of: "flow" },
      value: 337,
      unit: "packets",
      tolerance: 0,
    },
    endsLong: {
      changes: { "topology.bottleneck.queue.limit": "268 packets" },
      measure: { what: "grows_until", flow: "flow", after: 0.2 },
      value: 0.56,
      unit: "s",
      tolerance: 0.01,
    },
    largestRfc: {
      changes: { "tcp.stack": "rfc" },
      measure: { what: "cwnd", flow: "flow", take: "max" },
      value: 292,
      unit: "kB",
      tolerance: 1,
    },
    lostRfc: {
      changes: { "tcp.stack": "rfc" },
      measure: { what: "total", table: "flow_totals", column: "lost_packets", of: "flow" },
      value: 70,
      unit: "packets",
      tolerance: 0,
    },
    lostLimited: {
      changes: { "tcp.slow_start": "limited" },
      measure: { what: "total", table: "flow_totals", column: "lost_packets", of: "flow" },
      value: 46,
      unit: "packets",
      tolerance: 0,
    },
  },
};
