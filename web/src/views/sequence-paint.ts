/** Draws a time-sequence graph: vertical bars for segments, a step for ACKs, bars for SACK blocks, crosses for losses. */

import { across, down, type Frame, type Pen } from "./pen";
import { lower } from "./rows";
import type { Sequence } from "./sequence";

/** What is drawn, with its colour. */
export const SEQUENCE_WORDS = [
  { name: "segment", colour: "--flow-0" },
  { name: "retransmission", colour: "--flow-1" },
  { name: "ACK", colour: "--flow-2" },
  { name: "SACK block", colour: "--flow-3" },
  { name: "lost", colour: "--accent" },
  { name: "marked CE", colour: "--flow-4" },
];

/** Letters up to which they can be told apart. */
const MOST_LETTERS = 60;

/** Shortest bar, px. */
const THIN = 2;

/** Draws the packets of the frame's stretch of time. */
export function paintSequence(pen: Pen, frame: Frame, all: Sequence): void {
  const [first, last] = [lower(all.time, frame.from), lower(all.time, frame.to)];
  const [early, late] = [Math.max(0, lower(all.ackTime, frame.from) - 1), lower(all.ackTime, frame.to)];
  const few = last - first <= 5 * MOST_LETTERS;
  pen.line(acks(all, early, late, frame), { colour: "--flow-2", width: 1 });
  const sacked = bars(lower(all.sackOf, early), all.sackOf.length, (i) => {
    const ack = all.sackOf[i] ?? 0;
    if (ack >= late) return null;
    return [across(frame, all.ackTime[ack] ?? 0), down(frame, all.sackFrom[i] ?? 0), down(frame, all.sackTo[i] ?? 0)];
  });
  pen.line(sacked, { colour: "--flow-3", width: few ? 2 : 1 });
  const segments = (again: number): Float64Array =>
    bars(first, last, (i) => {
      if (all.again[i] !== again) return null;
      return [across(frame, all.time[i] ?? 0), down(frame, all.from[i] ?? 0), down(frame, all.to[i] ?? 0)];
    });
  pen.line(segments(0), { colour: "--flow-0", width: few ? 2 : 1.4 });
  pen.line(segments(1), { colour: "--flow-1", width: 2 });
  details(pen, frame, all, first, last);
}

/** The ACK numbers as a step that ends at the frame's right. */
function acks(all: Sequence, first: number, last: number, frame: Frame): Float64Array {
  const out = new Float64Array(4 * Math.max(0, last - first) + 2);
  let [at, before, column] = [0, Number.NaN, Number.NaN];
  const put = (x: number, y: number): void => {
    out[at++] = x;
    out[at++] = y;
  };
  for (let i = first; i < last; i++) {
    const [x, y] = [across(frame, all.ackTime[i] ?? 0), down(frame, all.ack[i] ?? 0)];
    // Within a tenth of a pixel nothing is seen of the step between.
    if (!Number.isNaN(before) && x - column > 0.1) put(x, before);
    put(x, y);
    [before, column] = [y, x];
  }
  if (last > first) put(frame.left + frame.width, before);
  return out.subarray(0, at);
}

/** Vertical bars; those of one pixel column that follow each other are one. */
function bars(first: number, last: number, place: (index: number) => [number, number, number] | null): Float64Array {
  const out: number[] = [];
  let [column, low, high] = [Number.NaN, 0, 0];
  const close = (): void => {
    if (!Number.isNaN(column)) out.push(column, low, column, Math.min(high, low - THIN), Number.NaN, Number.NaN);
  };
  for (let i = first; i < last; i++) {
    const found = place(i);
    if (!found) continue;
    const x = Math.round(found[0] * 2) / 2;
    if (x === column && Math.abs(found[1] - high) < 1) {
      high = found[2];
      continue;
    }
    close();
    [column, low, high] = [x, found[1], found[2]];
  }
  close();
  return Float64Array.from(out);
}

/** Crosses for losses, diamonds for marks, and letters where they can be told apart. */
function details(pen: Pen, frame: Frame, all: Sequence, first: number, last: number): void {
  const crosses: number[] = [];
  const again: number[] = [];
  for (let i = first; i < last; i++) {
    if (!all.lost[i] && !all.marked[i] && !all.again[i]) continue;
    const x = across(frame, all.time[i] ?? 0);
    const y = down(frame, ((all.from[i] ?? 0) + (all.to[i] ?? 0)) / 2);
    if (all.lost[i])
      crosses.push(
        x - 4,
        y - 4,
        x + 4,
        y + 4,
        Number.NaN,
        Number.NaN,
        x - 4,
        y + 4,
        x + 4,
        y - 4,
        Number.NaN,
        Number.NaN,
      );
    if (all.marked[i]) pen.area([x, y - 4, x + 4, y, x, y + 4, x - 4, y], "--flow-4", 1);
    if (all.again[i]) again.push(i);
  }
  pen.line(crosses, { colour: "--accent", width: 1.5 });
  if (again.length > MOST_LETTERS) return;
  for (const i of again) {
    const [x, y] = [across(frame, all.time[i] ?? 0), down(frame, all.to[i] ?? 0) - 4];
    pen.text(x, y, "R", { colour: "--flow-1", size: 10, align: "center", bold: true });
  }
}
