import type { Lesson } from "../lesson";
import { delay, goodput, lost } from "./measures.ts";

const OVER: [number, number] = [10, 39];
const CUBIC = { "flows[0].cc": "cubic" };
const BESIDE = { "flows[1].start": "5 s" };
const SHORT = { "topology.bottleneck.queue.limit": "17 packets" };
const LOSSY = { "topology.bottleneck.per": "1 %" };

export const bbr: Lesson = {
  name: "bbr",
  title: "BBR's model",
  summary: "A sender that measures the path's bandwidth and round-trip time instead of waiting for losses.",
  text: [
    "BBR (Cardwell and others 2016) keeps a model of the path with two numbers: the bottleneck bandwidth, the largest delivery rate of the last ten rounds, and RTprop, the smallest round-trip time of the last ten seconds. It paces at the bandwidth, and keeps about two bandwidth-delay products in flight at most.",
    "One flow cannot measure both at once: to see more bandwidth it must send more, which fills the queue; to see RTprop the queue must be empty. So BBR sends 25 % faster for a round-trip time and 25 % slower in the next (PROBE_BW), and every ten seconds keeps four segments in flight for 200 ms (PROBE_RTT).",
    "A single loss does not change the model. That helps where packets are lost at random, and hurts others where the queue is too short for what BBR keeps in flight.",
  ],
  sources: [
    {
      label: "Cardwell and others, BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016",
      href: "https://doi.org/10.1145/3012426.3022184",
    },
    { label: "draft-ietf-ccwg-bbr: BBR version 3", href: "https://datatracker.ietf.org/doc/draft-ietf-ccwg-bbr/" },
  ],
  docs: [
    { label: "The congestion control `bbr`", href: "docs/algorithms/bbr.md" },
    { label: "The congestion control `bbr3`", href: "docs/algorithms/bbr3.md" },
  ],
  toml: `# BBR alone for 39 s. Set the start of the second flow to 5 s to let the two compete.
title = "BBR on 10 Mb/s and 40 ms"
duration = "40 s"

# Bandwidth-delay product: 10 Mb/s x 40 ms = 50 kB, or 33 packets; the queue holds four times that.
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "18 ms", queue = { limit = "133 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms" }

[tcp]
stack = "linux"

[[flows]]
name = "bbr"
from = "s1"
to = "d1"
cc = "bbr"

[[flows]]
name = "cubic"
from = "s2"
to = "d2"
cc = "cubic"
start = "39 s"
`,
  question:
    "How long is the queue with BBR, compared with CUBIC? And who wins when they share the link: with a queue of four bandwidth-delay products, and of half of one?",
  steps: [
    "Find PROBE_RTT in the plot of cwnd, and PROBE_BW's cycles in that of the round-trip time.",
    "Set the control of the first flow to `cubic` and compare the queueing delay. Go back to `bbr`.",
    "Set the start of the second flow to 5 s. Then set the buffer to 17 packets.",
    "Set the second flow's start back to 39 s and the buffer to 133 packets. Set a random loss of 1 % on the bottleneck. Compare `bbr` and `cubic`.",
  ],
  watch: [
    { label: "Goodput of the first flow, 10 to 39 s", measure: goodput("bbr", OVER), unit: "Mb/s" },
    { label: "Goodput of the second flow, 10 to 39 s", measure: goodput("cubic", OVER), unit: "Mb/s" },
    { label: "Queueing delay, median", measure: delay("p50"), unit: "ms" },
    { label: "Packets lost", measure: lost(), unit: "packets" },
  ],
  hints: [
    "Two bandwidth-delay products in flight: one on the path, one in the queue, if the other flow lets it.",
    "In a queue shorter than one bandwidth-delay product, BBR's share in flight never fits. Who reacts to the losses?",
  ],
  answer: [
    "Alone, half of BBR's packets wait longer than {delayBbr}; with CUBIC it is {delayCubic}. The goodputs are {bbr} and {cubic}: PROBE_RTT costs a little.",
    "With 133 packets the two share the link: {besideBbr} for BBR, {besideCubic} for CUBIC, which keeps the queue so full that the bound on BBR's window holds it back. With 17 packets BBR gets {shortBbr} and CUBIC {shortCubic}: both lose packets, {shortLost} in all, and only CUBIC reduces its window for each.",
    "With 1 % of random losses BBR still gets {lossyBbr}, CUBIC {lossyCubic}: for CUBIC each loss is a sign of congestion.",
  ],
  checks: {
    delayBbr: { measure: delay("p50"), value: 6.8, unit: "ms", tolerance: 0.3 },
    delayCubic: { changes: CUBIC, measure: delay("p50"), value: 131, unit: "ms", tolerance: 1 },
    bbr: { measure: goodput("bbr", OVER), value: 9.4, unit: "Mb/s", tolerance: 0.05 },
    cubic: { changes: CUBIC, measure: goodput("bbr", OVER), value: 9.6, unit: "Mb/s", tolerance: 0.05 },
    besideBbr: { changes: BESIDE, measure: goodput("bbr", OVER), value: 4.1, unit: "Mb/s", tolerance: 0.05 },
    besideCubic: { changes: BESIDE, measure: goodput("cubic", OVER), value: 5.5, unit: "Mb/s", tolerance: 0.05 },
    shortBbr: {
      changes: { ...BESIDE, ...SHORT },
      measure: goodput("bbr", OVER),
      value: 8.5,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    shortCubic: {
      changes: { ...BESIDE, ...SHORT },
      measure: goodput("cubic", OVER),
      value: 1.0,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    shortLost: { changes: { ...BESIDE, ...SHORT }, measure: lost(), value: 917, unit: "packets", tolerance: 0 },
    lossyBbr: { changes: LOSSY, measure: goodput("bbr", OVER), value: 9.3, unit: "Mb/s", tolerance: 0.05 },
    lossyCubic: {
      changes: { ...LOSSY, ...CUBIC },
      measure: goodput("bbr", OVER),
      value: 2.6,
      unit: "Mb/s",
      tolerance: 0.05,
    },
  },
};
