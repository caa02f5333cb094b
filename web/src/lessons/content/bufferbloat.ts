import type { Lesson } from "../lesson";

const LONG = { "topology.bottleneck.queue.limit": "1000 packets" };
const SHORT = { "topology.bottleneck.queue.limit": "42 packets" };

export const bufferbloat: Lesson = {
  name: "bufferbloat",
  title: "Bufferbloat",
  summary: "What a long queue gives to a download, and what it takes from everything beside it.",
  text: [
    "A congestion control that waits for losses fills the bottleneck's queue, however long the queue is. Every packet that shares the queue then waits in it. A queue of n bytes at the rate r delays by n / r: 1000 packets of 1500 bytes at 10 Mb/s are 1.2 s.",
    "Memory became cheap, and modems, base stations and hosts got queues of seconds. Gettys and Nichols (2011) named the result bufferbloat: calls, games and web pages are slow while a download runs, though the link has the rate that was paid for.",
    "An old rule gives a queue one bandwidth-delay product, so that a single Reno flow that halves its window still keeps the link busy (Villamizar and Song 1994). With many flows a share of that suffices (Appenzeller, Keslassy and McKeown 2004).",
  ],
  sources: [
    {
      label: "Gettys and Nichols, Bufferbloat: Dark Buffers in the Internet, ACM Queue 9(11), 2011",
      href: "https://doi.org/10.1145/2063166.2071893",
    },
    {
      label: "Appenzeller, Keslassy and McKeown, Sizing Router Buffers, SIGCOMM 2004",
      href: "https://doi.org/10.1145/1015467.1015499",
    },
    { label: "RFC 7567: recommendations on active queue management", href: "https://www.rfc-editor.org/rfc/rfc7567" },
  ],
  docs: [
    { label: "The queue `droptail`", href: "docs/queues/droptail.md" },
    { label: "Experiments on queues", href: "docs/aqm.md" },
  ],
  toml: `# A download by CUBIC beside a call: datagrams of 172 bytes, 50 a second.
title = "A download and a call on one link"
duration = "30 s"
sampling = "50 ms"

# Base round-trip time 50 ms; bandwidth-delay product 62.5 kB, or 42 packets.
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "23 ms", queue = { limit = "250 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }

[tcp]
cc = "cubic"

[[flows]]
name = "download"
from = "s1"
to = "d1"
start = "5 s"

[[flows]]
name = "call"
kind = "udp"
from = "s2"
to = "d2"
rate = "69 kb/s"
payload = "172 B"
`,
  question:
    "How short can the queue be before the download loses more than a tenth of its goodput, and what does the call gain?",
  steps: [
    "Set the buffer to 1000, 250, 42, 21, 5 and 3 packets. Note goodput and delay each time.",
    "Watch the plot of the queue: where does it spend most of the time?",
  ],
  watch: [
    { label: "Goodput of the download", measure: { what: "goodput", flow: "download", over: [10, 30] }, unit: "Mb/s" },
    {
      label: "Queueing delay, median",
      measure: { what: "total", table: "queue_totals", column: "delay_p50_ns", of: "r1->r2" },
      unit: "ms",
    },
    {
      label: "Queueing delay, 95th percentile",
      measure: { what: "total", table: "queue_totals", column: "delay_p95_ns", of: "r1->r2" },
      unit: "ms",
    },
  ],
  hints: [
    "The goodput of the download can be at most 10 Mb/s less headers.",
    "CUBIC keeps 70 % of its window at a loss. How many packets must the queue hold for the link to stay busy then?",
  ],
  answer: [
    "With 250 packets the download gets {goodput} and half of all packets wait longer than {delay}; with 1000 packets it gets {goodputLong} and they wait {delayLong}. The longer queue adds delay and no goodput.",
    "With 42 packets, one bandwidth-delay product, the goodput is {goodputShort} and the median wait {delayShort}. With 5 packets the goodput falls to {goodputTiny}, with 3 packets to {goodputLeast}, more than a tenth less: the queue runs empty after each loss.",
    "No fixed length suits all: the right one depends on rate, round-trip time and number of flows. The next lesson controls the delay instead of the length.",
  ],
  checks: {
    goodput: {
      measure: { what: "goodput", flow: "download", over: [10, 30] },
      value: 9.6,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    delay: {
      measure: { what: "total", table: "queue_totals", column: "delay_p50_ns", of: "r1->r2" },
      value: 240,
      unit: "ms",
      tolerance: 1,
    },
    goodputLong: {
      changes: LONG,
      measure: { what: "goodput", flow: "download", over: [10, 30] },
      value: 9.6,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    delayLong: {
      changes: LONG,
      measure: { what: "total", table: "queue_totals", column: "delay_p50_ns", of: "r1->r2" },
      value: 826,
      unit: "ms",
      tolerance: 5,
    },
    goodputShort: {
      changes: SHORT,
      measure: { what: "goodput", flow: "download", over: [10, 30] },
      value: 9.6,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    delayShort: {
      changes: SHORT,
      measure: { what: "total", table: "queue_totals", column: "delay_p50_ns", of: "r1->r2" },
      value: 33,
      unit: "ms",
      tolerance: 0.5,
    },
    goodputLeast: {
      changes: { "topology.bottleneck.queue.limit": "3 packets" },
      measure: { what: "goodput", flow: "download", over: [10, 30] },
      value: 8.4,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    goodputTiny: {
      changes: { "topology.bottleneck.queue.limit": "5 packets" },
      measure: { what: "goodput", flow: "download", over: [10, 30] },
      value: 8.7,
      unit: "Mb/s",
      tolerance: 0.05,
    },
  },
};
