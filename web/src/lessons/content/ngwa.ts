import type { Lesson, Measure } from "../lesson";
import { delay, lost } from "./measures.ts";

const OVER: [number, number] = [12, 20];
const OFF = { "ngwa.enabled": "false" };
const SMALL = { "queue.limit": "30 kB" };
const JAIN: Measure = { what: "jain", over: OVER };
const USED: Measure = { what: "utilisation", queue: "r1->r2", rate: 10, over: OVER };

export const ngwa: Lesson = {
  name: "ngwa",
  title: "Windows from routers: NGWA",
  summary: "Routers that tell how many bytes their queue takes, and receivers that advertise no more.",
  text: [
    "New General Window Advertising (NGWA; Talau and Wille) lets each router write into an IPv4 option how many bytes its queue can take for one flow. Routers on the path only lower the value, so the tightest queue decides. The receiver advertises no larger window, and the sender's TCP need not change: it obeys the advertised window as ever.",
    "In the modes 5 to 8 a router divides 0.98 of its queue by the number of flows that it sees. In the modes 1 to 4 it writes the free bytes.",
    "The window depends on the size of the queue, not on what the path holds. A queue that is much larger than the bandwidth-delay product stays full; a smaller one leaves the link idle.",
  ],
  sources: [
    {
      label: "Talau and Wille, Available Network Bandwidth Schema to Improve Performance in TCP Protocols",
      href: "docs/ngwa.md",
    },
    { label: "RFC 9293, section 3.8.6: the window", href: "https://www.rfc-editor.org/rfc/rfc9293#section-3.8.6" },
  ],
  docs: [{ label: "NGWA: modes, limits and captures", href: "docs/ngwa.md" }],
  toml: `# Three flows share a queue that a router divides among them.
title = "NGWA: three flows and no overflow"
duration = "30 s"
sampling = "50 ms"

# Base round-trip time 44 ms; bandwidth-delay product 55 kB.
[topology]
kind = "dumbbell"
pairs = 3
bottleneck = { rate = "10 Mb/s", delay = "20 ms" }
access = { rate = "1 Gb/s", delay = "1 ms", queue = { limit = "1 MB" } }

# In bytes: routers tell of bytes.
[queue]
limit = "120 kB"

[ngwa]
mode = 6

[[flows]]
name = "first"
from = "s1"
to = "d1"

[[flows]]
name = "second"
from = "s2"
to = "d2"
start = "5 s"

[[flows]]
name = "third"
from = "s3"
to = "d3"
start = "10 s"
stop = "20 s"
`,
  question:
    "How fair are the three flows, and how many packets are lost, with NGWA and without? What does the size of the queue decide?",
  steps: [
    "Look at the plot of cwnd when a flow joins at 5 and 10 s, and when one leaves at 20 s.",
    "Set `enabled = false` in `[ngwa]`.",
    'Enable it again and set `limit = "30 kB"` in `[queue]`, then 300 kB.',
    "Set `mode = 1`: the router tells the free bytes, and each flow is told the same.",
  ],
  watch: [
    { label: "Jain's index, 12 to 20 s", measure: JAIN, unit: "" },
    { label: "Packets lost", measure: lost(), unit: "packets" },
    { label: "Queueing delay, median", measure: delay("p50"), unit: "ms" },
    { label: "Bottleneck used, 12 to 20 s", measure: USED, unit: "%" },
  ],
  hints: [
    "All windows together are 0.98 of the queue. The path itself holds a part of them.",
    "With a queue of 30 kB all windows together are 30 kB, and the path alone holds 55 kB.",
  ],
  answer: [
    "With NGWA {lost} are lost, Jain's index is {jain} and the median wait {delay}. Without it {lostOff} are lost, the index is {jainOff} and the wait {delayOff}.",
    "With a queue of 30 kB only {usedSmall} of the link are used, since the windows together are smaller than the bandwidth-delay product. With 300 kB the wait grows to {delayLarge}: the queue stays full.",
    "With `mode = 1`, {lostFree} are lost: several flows fill the same free bytes.",
  ],
  checks: {
    lost: { measure: lost(), value: 0, unit: "packets", tolerance: 0 },
    jain: { measure: JAIN, value: 1.0, unit: "", tolerance: 0.00005 },
    delay: { measure: delay("p50"), value: 50, unit: "ms", tolerance: 0.5 },
    lostOff: { changes: OFF, measure: lost(), value: 108, unit: "packets", tolerance: 0 },
    jainOff: { changes: OFF, measure: JAIN, value: 0.78, unit: "", tolerance: 0.005 },
    delayOff: { changes: OFF, measure: delay("p50"), value: 78, unit: "ms", tolerance: 0.5 },
    usedSmall: { changes: SMALL, measure: USED, value: 46, unit: "%", tolerance: 0.5 },
    delayLarge: { changes: { "queue.limit": "300 kB" }, measure: delay("p50"), value: 198, unit: "ms", tolerance: 0.5 },
    lostFree: { changes: { "ngwa.mode": "1" }, measure: lost(), value: 103, unit: "packets", tolerance: 0 },
  },
};
