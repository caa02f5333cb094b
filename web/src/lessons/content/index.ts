/** The lessons in their order. */

import type { Lesson } from "../lesson";
import { aimd } from "./aimd.ts";
import { bufferbloat } from "./bufferbloat.ts";
import { slowStart } from "./slow-start.ts";

export const lessons: Lesson[] = [slowStart, aimd, bufferbloat];
