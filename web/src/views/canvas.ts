/** One plot on a canvas: uPlot draws the axes, `paint` the lines. Data are replaced in place. */

import uPlot from "uplot";
import type { Figure, Line } from "./figure";
import { type Drawn, laneRoom, paint, prepared, range } from "./paint";
import { colour } from "./palette";
import { CanvasPen, type Frame } from "./pen";
import { scaled } from "./words";

/** Height of a plot with its time axis, px. */
export const HEIGHT = 176;

/** Height of a plot that draws itself: of single packets there is more to see. */
export const TALL = 300;

/** Height of the time axis, px: the strip that sets the playhead. */
export const STRIP = 26;

/** Width of the axis of values, px. */
const AXIS = 52;

/** A plot that is drawn again when something changes. */
export class Canvas {
  private readonly plot: uPlot;
  private figure: Figure | null = null;
  private drawn: Drawn[] = [];

  constructor(
    private readonly host: HTMLElement,
    private readonly height: number,
  ) {
    const axis = { stroke: () => colour("--muted"), font: "11px system-ui, sans-serif" };
    const lines = { stroke: () => colour("--rule"), width: 1 };
    const free = { auto: false, range: (_: uPlot, low: number, high: number): [number, number] => [low, high] };
    this.plot = new uPlot(
      {
        width: Math.max(120, host.clientWidth),
        height,
        legend: { show: false },
        cursor: { show: false },
        padding: [6, 18, 0, 0],
        scales: { x: { time: false, ...free }, y: free },
        axes: [
          {
            ...axis,
            size: STRIP,
            gap: 4,
            grid: lines,
            ticks: { ...lines, size: 4 },
            values: (_, places) => scaled(places).map((one) => `${one} s`),
            space: 70,
          },
          {
            ...axis,
            size: AXIS,
            gap: 4,
            grid: lines,
            ticks: { ...lines, size: 4 },
            values: (_, places) => short(places),
          },
        ],
        series: [{}, { paths: () => null, points: { show: false } }],
        hooks: { draw: [(plot) => this.paint(plot)] },
      },
      [
        [0, 1],
        [0, 1],
      ],
      host,
    );
  }

  /** The element over the plot's values. */
  get over(): HTMLElement {
    return this.plot.over;
  }

  /** Draws a figure for a stretch of time. */
  update(figure: Figure, isHidden: (line: Line) => boolean, [from, to]: [number, number]): void {
    this.figure = figure;
    const columns = Math.max(1, Math.round(this.plot.bbox.width));
    this.drawn = prepared(figure, isHidden, from, to, columns);
    let [low, high] = range(figure, this.drawn, from, to);
    high += ((high - low) * laneRoom(figure)) / (this.height - STRIP);
    this.plot.batch(() => {
      this.plot.setData(
        [
          [from, to],
          [low, high],
        ],
        false,
      );
      this.plot.setScale("x", { min: from, max: to });
      this.plot.setScale("y", { min: low, max: high });
    });
  }

  /** Fits the plot into its place; whether that changed its size. */
  resize(): boolean {
    const width = this.host.clientWidth;
    if (width < 120 || width === this.plot.width) return false;
    this.plot.setSize({ width, height: this.height });
    return true;
  }

  destroy(): void {
    this.plot.destroy();
  }

  private paint(plot: uPlot): void {
    if (!this.figure) return;
    const ratio = devicePixelRatio;
    const { left, top, width, height } = plot.bbox;
    const { x, y } = plot.scales;
    const frame: Frame = {
      left: left / ratio,
      top: top / ratio,
      width: width / ratio,
      height: height / ratio,
      from: x?.min ?? 0,
      to: x?.max ?? 1,
      low: y?.min ?? 0,
      high: y?.max ?? 1,
    };
    paint(new CanvasPen(plot.ctx, colour, ratio), this.figure, this.drawn, frame);
  }
}

/** Texts of an axis that fit beside it: thousands and millions are shortened. */
function short(places: number[]): string[] {
  const most = Math.max(...places.map(Math.abs));
  const [factor, suffix] = most >= 1e6 ? [1e6, "M"] : most >= 1e5 ? [1e3, "k"] : [1, ""];
  return scaled(places.map((place) => place / factor)).map((one, i) => (places[i] === 0 ? one : one + suffix));
}
