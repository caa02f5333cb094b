import type { Lesson, Measure } from "../lesson";
import { delay, lost } from "./measures.ts";

const OVER: [number, number] = [2, 6];
const USED: Measure = { what: "utilisation", queue: "r1->r2", rate: 100, over: OVER };
const QUEUE: Measure = { what: "queue", queue: "r1->r2", take: "mean", over: OVER };
const RENO = { "flows[0].cc": "reno" };
const LOW = {
  "topology.bottleneck.queue.min_threshold": "4 packets",
  "topology.bottleneck.queue.max_threshold": "5 packets",
};
const DROPS = { "flows[0].cc": "cubic", "tcp.ecn": "false", "topology.bottleneck.queue": '{ limit = "200 packets" }' };

export const ecnDctcp: Lesson = {
  name: "ecn-dctcp",
  title: "ECN and DCTCP",
  summary: "Marks instead of drops, and a reduction in proportion to them.",
  text: [
    "With ECN (RFC 3168) a queue marks packets (CE) instead of dropping them. The receiver echoes the mark (ECE), and the sender reduces cwnd as for a loss. Nothing needs to be sent again. But a sender that halves cwnd for each mark needs a queue of about one bandwidth-delay product to keep the link busy meanwhile, marks or not.",
    "DCTCP (RFC 8257) reads more from the marks. The queue marks every packet that finds K packets or more. The sender estimates the share alpha of its bytes that are marked, and reduces cwnd by alpha / 2. Few marks cost little; if all packets are marked, cwnd is halved.",
    "The queue then stays near K. DCTCP is for data centres: beside Reno or CUBIC in one queue it takes nearly everything, since it reduces less for each mark. The next lesson has an answer to that.",
  ],
  sources: [
    { label: "RFC 3168: Explicit Congestion Notification", href: "https://www.rfc-editor.org/rfc/rfc3168" },
    { label: "RFC 8257: DCTCP", href: "https://www.rfc-editor.org/rfc/rfc8257" },
    { label: "Alizadeh and others, Data Center TCP, SIGCOMM 2010", href: "https://doi.org/10.1145/1851182.1851192" },
  ],
  docs: [
    { label: "The congestion control `dctcp`", href: "docs/algorithms/dctcp.md" },
    { label: "The queue `red`", href: "docs/queues/red.md" },
  ],
  toml: `# Four DCTCP flows through a queue that marks from a threshold on.
title = "Four flows through a marking threshold"
duration = "6 s"
start_jitter = "100 ms"
sampling = "10 ms"

# Base round-trip time 4 ms: at 100 Mb/s 50 kB, or 33 packets.
[topology]
kind = "dumbbell"
pairs = 4
access = { rate = "1 Gb/s", delay = "500 us", queue = { limit = "1000 packets" } }

[topology.bottleneck]
rate = "100 Mb/s"
delay = "1 ms"

# RED becomes DCTCP's threshold K = 20 packets where the average is the queue of the moment (weight 1) and the
# probability jumps to 1 at the upper threshold (RFC 8257, section 3.1).
[topology.bottleneck.queue]
kind = "red"
limit = "200 packets"
min_threshold = "19 packets"
max_threshold = "20 packets"
weight = 1
max_p = 1
gentle = true
wait = false
ecn = true
mean_packet = "1500 B"

[tcp]
stack = "linux"
ecn = true

[[flows]]
name = "flow"
from = "s*"
to = "d*"
cc = "dctcp"
copies = 4
stagger = "500 ms"
`,
  question:
    "With the same marks, how much of the link do DCTCP and Reno use, and how long is the queue? What happens to each if K is only 5 packets?",
  steps: [
    "Look at the plot of the queue: how far from K does it go?",
    "Set the congestion control of all flows to `reno`. The queue still marks, but each echo halves cwnd.",
    'Set `min_threshold = "4 packets"` and `max_threshold = "5 packets"`, with `reno` and with `dctcp`.',
    "Compare with what drop-tail does: the congestion control `cubic`, no ECN, and the queue discipline drop-tail.",
  ],
  watch: [
    { label: "Bottleneck used, 2 to 6 s", measure: USED, unit: "%" },
    { label: "Waiting packets, mean, 2 to 6 s", measure: QUEUE, unit: "packets" },
    { label: "Queueing delay, 95th percentile", measure: delay("p95"), unit: "ms" },
    { label: "Packets lost", measure: lost(), unit: "packets" },
  ],
  hints: [
    "After a reduction the link stays busy if the queue holds what cwnd loses.",
    "Alpha / 2 of the window of four flows: how many packets is that if a tenth of all packets are marked?",
  ],
  answer: [
    "DCTCP uses {dctcp} of the link with {dctcpQueue} in the queue on average, close to K. Reno with the same marks uses {reno} with {renoQueue}: after an echo its flows leave the link idle.",
    "With K = 5 packets DCTCP uses {dctcpLow}, Reno {renoLow}.",
    "CUBIC with drop-tail uses {drops} of the link. Its queue holds {dropsQueue} on average, 95 % of the packets wait up to {dropsDelay}, and {dropsLost} are lost; with DCTCP they wait up to {dctcpDelay}.",
  ],
  checks: {
    dctcp: { measure: USED, value: 100.0, unit: "%", tolerance: 0.05 },
    dctcpQueue: { measure: QUEUE, value: 17.8, unit: "packets", tolerance: 0.05 },
    dctcpDelay: { measure: delay("p95"), value: 2.7, unit: "ms", tolerance: 0.05 },
    reno: { changes: RENO, measure: USED, value: 92.7, unit: "%", tolerance: 0.05 },
    renoQueue: { changes: RENO, measure: QUEUE, value: 8.6, unit: "packets", tolerance: 0.05 },
    dctcpLow: { changes: LOW, measure: USED, value: 96.2, unit: "%", tolerance: 0.05 },
    renoLow: { changes: { ...LOW, ...RENO }, measure: USED, value: 76.4, unit: "%", tolerance: 0.05 },
    drops: { changes: DROPS, measure: USED, value: 100.0, unit: "%", tolerance: 0.05 },
    dropsQueue: { changes: DROPS, measure: QUEUE, value: 180, unit: "packets", tolerance: 0.5 },
    dropsDelay: { changes: DROPS, measure: delay("p95"), value: 23.7, unit: "ms", tolerance: 0.05 },
    dropsLost: { changes: DROPS, measure: lost(), value: 143, unit: "packets", tolerance: 0 },
  },
};
