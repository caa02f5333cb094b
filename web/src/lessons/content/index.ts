/** The lessons in their order. */

import type { Lesson } from "../lesson";
import { acns } from "./acns.ts";
import { aimd } from "./aimd.ts";
import { bbr } from "./bbr.ts";
import { bufferbloat } from "./bufferbloat.ts";
import { codel } from "./codel.ts";
import { cubic } from "./cubic.ts";
import { ecnDctcp } from "./ecn-dctcp.ts";
import { hystart } from "./hystart.ts";
import { l4s } from "./l4s.ts";
import { ngwa } from "./ngwa.ts";
import { rack } from "./rack.ts";
import { rttUnfairness } from "./rtt-unfairness.ts";
import { slowStart } from "./slow-start.ts";
import { wifi } from "./wifi.ts";

export const lessons: Lesson[] = [
  slowStart,
  hystart,
  aimd,
  rttUnfairness,
  bufferbloat,
  codel,
  cubic,
  bbr,
  rack,
  ecnDctcp,
  l4s,
  acns,
  ngwa,
  wifi,
];
