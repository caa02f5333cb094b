/** Draws the lines, lanes and levels of a figure with a pen. */

import { type Figure, firstFrom, type Lane, type Line, length, timeAt } from "./figure";
import { across, down, type Frame, type Pen } from "./pen";
import { type Points, reduced } from "./reduce";

/** Height of a strip of states, px. */
export const LANE = 7;

/** Room that strips take at the top of a plot, px. */
export function laneRoom(figure: Figure): number {
  return figure.lanes.length ? figure.lanes.length * (LANE + 1) + 4 : 0;
}

/** A line with the points of the stretch that is shown. */
export interface Drawn {
  line: Line;
  points: Points;
}

/** Reduces the lines that are shown. */
export function prepared(
  figure: Figure,
  isHidden: (line: Line) => boolean,
  from: number,
  to: number,
  columns: number,
): Drawn[] {
  return figure.lines
    .filter((one) => !isHidden(one))
    .map((one) => ({ line: one, points: reduced(one.series, one.shape, from, to, columns) }));
}

/** The range of y for what is shown. */
export function range(figure: Figure, drawn: Drawn[], from: number, to: number): [number, number] {
  const own = figure.custom?.range(from, to);
  if (own) return own;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { line, points } of drawn) {
    [low, high] = [Math.min(low, points.low), Math.max(high, points.high)];
    if (line.band) [low, high] = banded(line, from, to, low, high);
  }
  for (const { value } of figure.levels) high = Math.max(high, value);
  if (low > high) return [0, 1];
  if (figure.fromZero) low = Math.min(0, low);
  const room = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return [figure.fromZero && low === 0 ? 0 : low - room, high + room];
}

function banded(line: Line, from: number, to: number, low: number, high: number): [number, number] {
  const { series, band } = line;
  for (let i = firstFrom(series, from); band && i < length(series) && timeAt(series, i) <= to; i++) {
    const [least, most] = [band.low[i] ?? Number.NaN, band.high[i] ?? Number.NaN];
    if (least < low) low = least;
    if (most > high) high = most;
  }
  return [low, high];
}

/** Draws everything inside the frame. */
export function paint(pen: Pen, figure: Figure, drawn: Drawn[], frame: Frame): void {
  pen.within(frame, () => {
    for (const { line } of drawn) if (line.band) paintBand(pen, line, frame);
    for (const level of figure.levels) {
      const y = down(frame, level.value);
      pen.line([frame.left, y, frame.left + frame.width, y], { colour: level.colour, width: 1, dash: [2, 3] });
    }
    for (const { line, points } of drawn) {
      const { colour, width, dash, opacity } = line;
      pen.line(traced(points, line, frame), { colour, width, dash, opacity });
    }
    figure.custom?.paint(pen, frame);
    figure.lanes.forEach((lane, place) => {
      paintLane(pen, figure, lane, frame, laneTop(frame, place));
    });
  });
  // Beside the strips: which flow each is of.
  figure.lanes.forEach((lane, place) => {
    pen.area(rectangle(frame.left - 6, frame.left - 2, laneTop(frame, place)), lane.colour, 1);
  });
}

const laneTop = (frame: Frame, place: number): number => frame.top + 2 + place * (LANE + 1);

const rectangle = (left: number, right: number, top: number): number[] => [
  left,
  top,
  right,
  top,
  right,
  top + LANE,
  left,
  top + LANE,
];

function paintLane(pen: Pen, figure: Figure, lane: Lane, frame: Frame, top: number): void {
  // Stretches that end within the same half pixel are not seen.
  let painted = Number.NEGATIVE_INFINITY;
  for (const { from, to, word } of lane.stretches) {
    if (to < frame.from || from > frame.to) continue;
    const left = across(frame, Math.max(from, frame.from));
    const right = Math.max(across(frame, Math.min(to, frame.to)), left + 0.5);
    if (right < painted + 0.5) continue;
    painted = right;
    pen.area(rectangle(left, right, top), phaseColour(figure.words[word] ?? "", word), 0.9);
  }
}

/** Colours of states in the style sheet. */
const PHASES = 6;

/** Colours of well-known states: alike for what is alike in different controls. */
const KNOWN: Record<string, number> = {
  "slow start": 0,
  STARTUP: 0,
  "congestion avoidance": 1,
  PROBE_BW: 1,
  recovery: 2,
  cwr: 3,
  DRAIN: 3,
  PROBE_RTT: 4,
  loss: 5,
};

/** The CSS variable of a state's colour. */
export function phaseColour(word: string, index: number): string {
  return `--phase-${KNOWN[word] ?? index % PHASES}`;
}

function paintBand(pen: Pen, line: Line, frame: Frame): void {
  const { series, band } = line;
  if (!band) return;
  const [first, last] = [Math.max(0, firstFrom(series, frame.from) - 1), firstFrom(series, frame.to)];
  const [upper, lower]: [number[], number[]] = [[], []];
  const close = (): void => {
    if (upper.length > 2) pen.area([...upper, ...lower], line.colour, 0.16);
    upper.length = 0;
    lower.length = 0;
  };
  for (let i = first; i <= last && i < length(series); i++) {
    const [low, high] = [band.low[i] ?? Number.NaN, band.high[i] ?? Number.NaN];
    if (Number.isNaN(low) || Number.isNaN(high)) {
      close();
      continue;
    }
    const x = across(frame, timeAt(series, i));
    upper.push(x, down(frame, high));
    lower.unshift(x, down(frame, low));
  }
  close();
}

/** The points of a line in px, joined as its shape says. */
export function traced({ x, y }: Points, { shape }: Line, frame: Frame): Float64Array {
  const count = x.length;
  const out = new Float64Array(count * 6);
  let [at, before] = [0, Number.NaN];
  const put = (px: number, py: number): void => {
    out[at] = px;
    out[at + 1] = py;
    at += 2;
  };
  const zero = down(frame, 0);
  for (let i = 0; i < count; i++) {
    const [px, py] = [across(frame, x[i] ?? 0), down(frame, y[i] ?? Number.NaN)];
    if (shape === "stick") {
      if ((y[i] ?? 0) > 0) {
        put(px, zero);
        put(px, py);
        put(Number.NaN, Number.NaN);
      }
    } else {
      if (shape === "hold" && !Number.isNaN(before)) put(px, before);
      if (shape === "interval" && i > 0) put(across(frame, x[i - 1] ?? 0), py);
      put(px, py);
    }
    before = py;
  }
  return out.subarray(0, at);
}
