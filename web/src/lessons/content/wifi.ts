import type { Lesson, Measure } from "../lesson";
import { goodput } from "./measures.ts";

const OVER: [number, number] = [2, 8];
const SINGLE = { "wifi.aggregation": "false" };
const FRAMES: Measure = { what: "total", table: "station_totals", column: "data_frames" };
const COLLISIONS: Measure = { what: "total", table: "station_totals", column: "collisions" };

export const wifi: Lesson = {
  name: "wifi",
  title: "Wi-Fi: a shared medium",
  summary: "Why 65 Mb/s of Wi-Fi carry much less, and why an upload gets as much as all downloads.",
  text: [
    "Stations of an 802.11 channel share one medium. Before each transmission a station waits for an idle time (DIFS) and a random number of slots (backoff). Preamble, header and acknowledgment take time at low rates. For a single packet of 1500 bytes these fixed costs are as long as the data itself.",
    "Aggregation (802.11n, A-MPDU) sends many packets after one backoff and one preamble, with one block acknowledgment for all.",
    "The distributed coordination function gives each station that contends the same number of chances, however many flows it serves. The base station is one of them: all downloads share its chances.",
  ],
  sources: [
    {
      label: "IEEE 802.11-2016, clauses 10.3 (DCF) and 10.13 (A-MPDU)",
      href: "https://doi.org/10.1109/IEEESTD.2016.7786995",
    },
    {
      label: "Heusse and others, Performance Anomaly of 802.11b, INFOCOM 2003",
      href: "https://doi.org/10.1109/INFCOM.2003.1208921",
    },
  ],
  docs: [{ label: "802.11 channels: the model and its tests", href: "docs/wifi.md" }],
  toml: `# A cell of 802.11n at 65 Mb/s: two downloads and an upload.
title = "Three stations of an 802.11n cell"
duration = "8 s"
start_jitter = "100 ms"

#   server --- 1 Gb/s, 5 ms --- ap  . . w1, w2 (downloads), w3 (upload)
[[nodes]]
name = "server"

[[nodes]]
name = "ap"
kind = "router"

[[nodes]]
name = "w1"

[[nodes]]
name = "w2"

[[nodes]]
name = "w3"

[[links]]
between = ["server", "ap"]
rate = "1 Gb/s"
delay = "5 ms"

[wifi]
name = "wlan"
base = "ap"
stations = ["w1", "w2", "w3"]
phy = "802.11n"
mcs = 7                  # 64-QAM, 5/6
channel_width = "20 MHz"
streams = 1              # 65 Mb/s
queue = { limit = "256 packets" }
station_queue = { limit = "256 packets" }

[tcp]
stack = "linux"
cc = "cubic"

[[flows]]
name = "down-1"
from = "server"
to = "w1"

[[flows]]
name = "down-2"
from = "server"
to = "w2"

[[flows]]
name = "up"
from = "w3"
to = "server"
`,
  question:
    "How does the upload compare with the two downloads, and how much of the 65 Mb/s is left without aggregation?",
  steps: [
    "Compare the three goodputs.",
    "Switch aggregation (A-MPDU) off. Watch the number of data frames and the collisions.",
    "In the text, set `aggregation = { max_mpdus = 4 }`: four packets at most.",
    'Remove that line and set a frame error rate for one station: `errors = [{ station = "w1", fer = "20 %" }]`.',
  ],
  watch: [
    { label: "Goodput of down-1, 2 to 8 s", measure: goodput("down-1", OVER), unit: "Mb/s" },
    { label: "Goodput of down-2, 2 to 8 s", measure: goodput("down-2", OVER), unit: "Mb/s" },
    { label: "Goodput of up, 2 to 8 s", measure: goodput("up", OVER), unit: "Mb/s" },
    { label: "Data frames sent (an A-MPDU is one)", measure: FRAMES, unit: "frames" },
    { label: "Frames that could not be read for collisions", measure: COLLISIONS, unit: "frames" },
  ],
  hints: [
    "Who contends for the medium with data: three stations and the base station, or two of them?",
    "Each ACK of TCP is a packet on the medium too, and costs a backoff of its own unless it is aggregated.",
  ],
  answer: [
    "The downloads get {down1} and {down2}, the upload {up}: more than both together. The station of the upload and the base station have the same number of chances.",
    "Without aggregation the downloads get {down1Single} and {down2Single}, the upload {upSingle}: about half. {framesSingle} are sent instead of {frames}, each with its own backoff, preamble and acknowledgment, and {collisionsSingle} collide instead of {collisions}.",
    "With a frame error rate of 20 % the station w1 gets {bad}: block acknowledgments repeat only what was lost, but repetitions take its turns. The others get {down2Bad} and {upBad}.",
  ],
  checks: {
    down1: { measure: goodput("down-1", OVER), value: 9.7, unit: "Mb/s", tolerance: 0.05 },
    down2: { measure: goodput("down-2", OVER), value: 11.4, unit: "Mb/s", tolerance: 0.05 },
    up: { measure: goodput("up", OVER), value: 27.0, unit: "Mb/s", tolerance: 0.05 },
    frames: { measure: FRAMES, value: 2998, unit: "frames", tolerance: 0 },
    collisions: { measure: COLLISIONS, value: 477, unit: "frames", tolerance: 0 },
    down1Single: { changes: SINGLE, measure: goodput("down-1", OVER), value: 4.9, unit: "Mb/s", tolerance: 0.05 },
    down2Single: { changes: SINGLE, measure: goodput("down-2", OVER), value: 5.6, unit: "Mb/s", tolerance: 0.05 },
    upSingle: { changes: SINGLE, measure: goodput("up", OVER), value: 12.8, unit: "Mb/s", tolerance: 0.05 },
    framesSingle: { changes: SINGLE, measure: FRAMES, value: 28361, unit: "frames", tolerance: 0 },
    collisionsSingle: { changes: SINGLE, measure: COLLISIONS, value: 2783, unit: "frames", tolerance: 0 },
    bad: {
      changes: { "wifi.errors": '[{ station = "w1", fer = "20 %" }]' },
      measure: goodput("down-1", OVER),
      value: 4.0,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    down2Bad: {
      changes: { "wifi.errors": '[{ station = "w1", fer = "20 %" }]' },
      measure: goodput("down-2", OVER),
      value: 12.0,
      unit: "Mb/s",
      tolerance: 0.05,
    },
    upBad: {
      changes: { "wifi.errors": '[{ station = "w1", fer = "20 %" }]' },
      measure: goodput("up", OVER),
      value: 29.9,
      unit: "Mb/s",
      tolerance: 0.05,
    },
  },
};
