/** A figure as an SVG document: drawn from the data, with text as text. */

import type { Figure, Line } from "./figure";
import { laneRoom, paint, phaseColour, prepared, range } from "./paint";
import { across, down, type Frame, type Palette, type Pen, SvgPen } from "./pen";
import { entries } from "./readout";
import { scaled, ticks } from "./words";

/** Size of a picture, px. */
export const PICTURE = { width: 820, height: 340 };

const [LEFT, RIGHT, BOTTOM, SIZE] = [64, 16, 40, 12];

/** Widths of letters of this font are about 0.55 of its size: enough to break the legend's lines. */
const LETTER = 0.55 * SIZE;

/** Draws a figure for a stretch of time. */
export function figureSvg(
  figure: Figure,
  isHidden: (line: Line) => boolean,
  [from, to]: [number, number],
  palette: Palette,
): string {
  const { width, height } = PICTURE;
  const pen = new SvgPen(palette, width, height);
  pen.text(LEFT, 20, figure.title, { colour: "--ink", size: 14, bold: true });
  const top = legend(pen, figure, width) + 10;
  const drawn = prepared(figure, isHidden, from, to, width - LEFT - RIGHT);
  let [low, high] = range(figure, drawn, from, to);
  const box = { left: LEFT, top, width: width - LEFT - RIGHT, height: height - top - BOTTOM };
  high += ((high - low) * laneRoom(figure)) / box.height;
  const frame: Frame = { ...box, from, to, low, high };
  axes(pen, frame, figure.unit);
  paint(pen, figure, drawn, frame);
  return pen.document(figure.title);
}

/** Names and colours, in as many rows as they need; returns where the last one ends. */
function legend(pen: Pen, figure: Figure, width: number): number {
  const states = figure.words.map((name, index) => ({ name, colour: phaseColour(name, index), dashed: false }));
  let [x, y] = [LEFT, 40];
  for (const { name, colour, dashed } of [...entries(figure, null), ...states]) {
    const room = 24 + name.length * LETTER;
    if (x + room > width - RIGHT && x > LEFT) [x, y] = [LEFT, y + 18];
    pen.line([x, y - 4, x + 16, y - 4], { colour, width: 3, dash: dashed ? [5, 3] : [] });
    pen.text(x + 21, y, name, { colour: "--ink", size: SIZE });
    x += room + 14;
  }
  return y;
}

function axes(pen: Pen, frame: Frame, unit: string): void {
  const { left, top, width, height } = frame;
  const rule = { colour: "--rule", width: 1 };
  const words = { colour: "--muted", size: SIZE };
  const times = ticks(frame.from, frame.to, 8);
  scaled(times).forEach((text, i) => {
    const x = across(frame, times[i] ?? 0);
    pen.line([x, top, x, top + height], rule);
    pen.text(x, top + height + 16, text, { ...words, align: "center" });
  });
  const values = ticks(frame.low, frame.high, 5);
  scaled(values).forEach((text, i) => {
    const y = down(frame, values[i] ?? 0);
    pen.line([left, y, left + width, y], rule);
    pen.text(left - 6, y + 4, text, { ...words, align: "right" });
  });
  pen.text(left + width / 2, top + height + 34, "Time (s)", { ...words, align: "center" });
  pen.text(left, top - 4, unit, { ...words, align: "right" });
}
