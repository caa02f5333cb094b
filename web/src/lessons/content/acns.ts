import type { Lesson } from "../lesson";
import { delay, goodput, lost } from "./measures.ts";

const OFF = { "acns.enabled": "false" };
const TURNED = { "flows[0].dscp": "46", "flows[1].dscp": "0" };
const BOTH: [number, number] = [25, 60];

export const acns: Lesson = {
  name: "acns",
  title: "Commands from routers: ACNS",
  summary: "Routers that tell single senders to go on, to freeze or to fall back, by age, priority and queue.",
  text: [
    "A sender that waits for losses learns late, and all senders learn the same. A router knows more: how full its queue is, and which flows fill it. The Advanced Congestion Notification System (ACNS; Hruby, Olsovsky and Kotocova 2013) lets routers write a command into packets: normal, freeze (keep the window) or fallback (a smaller window). The receiver echoes it.",
    "The weight of a flow decides. W = A / (F + T): A is the share of the queue that is filled, F grows with the priority (DSCP), T falls with the age of the flow. From 0.95 on the command is freeze, from 1.0 on fallback. Old flows of low priority yield first; a new flow hears only normal.",
    "Routers need state for each flow, and both ends must take part.",
  ],
  sources: [
    { label: "Hruby, Olsovsky and Kotocova, DCNET 2013", href: "docs/acns.md" },
    { label: "RFC 3168: ECN, whose bits ACNS uses", href: "https://www.rfc-editor.org/rfc/rfc3168" },
  ],
  docs: [{ label: "ACNS: messages, decisions and limits", href: "docs/acns.md" }],
  toml: `# An old flow without priority, and an urgent one that joins it after 20 s.
title = "ACNS: an urgent flow joins"
duration = "60 s"
start_jitter = "100 ms"

# Base round-trip time 60 ms.
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "5 Mb/s", delay = "28 ms", queue = { limit = "80 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }

[tcp]
cc = "cubic"
max_cwnd = "85 kB"

# The papers' parameters are the defaults.
[acns]

[[flows]]
name = "old"
from = "s1"
to = "d1"
dscp = 0

[[flows]]
name = "urgent"
from = "s2"
to = "d2"
dscp = 46
start = "20 s"
`,
  question: "What share does the urgent flow get with ACNS, and without? Is it the priority that decides, or the age?",
  steps: [
    "Note the goodput of both flows from 25 s on, the lost packets and the queueing delay.",
    "Set `enabled = false` in `[acns]`.",
    "Enable it again and exchange the priorities: 46 for the old flow, 0 for the new one.",
    "Set both priorities to 0: only the age is left.",
  ],
  watch: [
    { label: "Goodput of old, 25 to 60 s", measure: goodput("old", BOTH), unit: "Mb/s" },
    { label: "Goodput of urgent, 25 to 60 s", measure: goodput("urgent", BOTH), unit: "Mb/s" },
    { label: "Packets lost", measure: lost(), unit: "packets" },
    { label: "Queueing delay, median", measure: delay("p50"), unit: "ms" },
  ],
  hints: [
    "F is 0.8 times the DSCP over 63, T is 0.2 over the age relative to the oldest flow.",
    "The ages become alike with time. Compare the first seconds after 20 s with the last ones.",
  ],
  answer: [
    "With ACNS the urgent flow gets {urgent}, the old one {old}, and {lost} are lost; half of all packets wait longer than {delay}. Without it the old flow keeps {oldOff}, the urgent one gets {urgentOff}, {lostOff} are lost and the median wait is {delayOff}.",
    "With exchanged priorities the new flow gets {turned} only: the priority weighs more than the age (0.8 and 0.2). With equal priorities the new flow gets {young}: the age alone gives it most of the link as long as it is young.",
  ],
  checks: {
    urgent: { measure: goodput("urgent", BOTH), value: 4.12, unit: "Mb/s", tolerance: 0.005 },
    old: { measure: goodput("old", BOTH), value: 0.71, unit: "Mb/s", tolerance: 0.005 },
    lost: { measure: lost(), value: 0, unit: "packets", tolerance: 0 },
    delay: { measure: delay("p50"), value: 98, unit: "ms", tolerance: 0.5 },
    urgentOff: { changes: OFF, measure: goodput("urgent", BOTH), value: 2.0, unit: "Mb/s", tolerance: 0.005 },
    oldOff: { changes: OFF, measure: goodput("old", BOTH), value: 2.82, unit: "Mb/s", tolerance: 0.005 },
    lostOff: { changes: OFF, measure: lost(), value: 28, unit: "packets", tolerance: 0 },
    delayOff: { changes: OFF, measure: delay("p50"), value: 167, unit: "ms", tolerance: 0.5 },
    turned: { changes: TURNED, measure: goodput("urgent", BOTH), value: 1.12, unit: "Mb/s", tolerance: 0.005 },
    young: {
      changes: { "flows[1].dscp": "0" },
      measure: goodput("urgent", BOTH),
      value: 3.98,
      unit: "Mb/s",
      tolerance: 0.005,
    },
  },
};
