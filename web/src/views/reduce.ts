/** The points of a line that a picture of a given width shows: all of them, or the extremes of each pixel column. */

import { firstFrom, length, type Series, type Shape, timeAt, valueAt } from "./figure";

/** Points up to which a line is drawn as it is. */
export const MOST_POINTS = 4_000;

/** Points in order of time. NaN in `y` interrupts the line. */
export interface Points {
  x: Float64Array;
  y: Float64Array;
  /** Smallest and largest value of the stretch and of the points that lead there; infinite without values. */
  low: number;
  high: number;
}

/** Rows that a stretch of time shows: those inside, and one beyond each end for the parts that lead there. */
function inside(series: Series, from: number, to: number): [number, number] {
  const count = length(series);
  const first = Math.max(0, firstFrom(series, from) - 1);
  let last = firstFrom(series, to);
  if (last < count) last += 1;
  return [first, last];
}

/** The extremes of rows, as their places; -1 without values. */
function extremes(series: Series, begin: number, end: number): [number, number] {
  const { rows, value, scale, kind } = series;
  // The usual case is fast: most points of a large run are looked at here, and nowhere else.
  const plain = kind === "gauge" && scale > 0;
  let [least, most] = [-1, -1];
  let [small, large] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = begin; at < end; at++) {
    const here = plain ? (value[rows ? (rows[at] as number) : at] as number) : valueAt(series, at);
    if (here < small) {
      least = at;
      small = here;
    }
    if (here > large) {
      most = at;
      large = here;
    }
  }
  return [least, most];
}

/**
 * Returns the points for a stretch of time. Of more than `MOST_POINTS`, each pixel column has its first, smallest,
 * largest and last point, at their own times: the picture is that of all points (Jugel et al. 2014, "M4", VLDB 7(10)).
 * Of sticks, each column has the largest.
 */
export function reduced(series: Series, shape: Shape, from: number, to: number, columns: number): Points {
  const [first, last] = inside(series, from, to);
  if (last - first <= MOST_POINTS) return all(series, first, last);
  const room = 4 * (columns + 3);
  const x = new Float64Array(room);
  const y = new Float64Array(room);
  const width = (to - from) / columns || 1;
  let [count, before, low, high] = [0, -1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const put = (index: number): void => {
    if (index <= before) return;
    before = index;
    x[count] = timeAt(series, index);
    y[count] = valueAt(series, index);
    count += 1;
  };
  let at = first;
  // Before the stretch and after it there is one point each; they count as columns.
  for (let column = -1; column <= columns && at < last; column++) {
    const begin = at;
    at = column === columns ? last : Math.min(last, firstFrom(series, from + (column + 1) * width, at));
    if (at === begin) continue;
    const [least, most] = extremes(series, begin, at);
    if (most >= 0) [low, high] = [Math.min(low, valueAt(series, least)), Math.max(high, valueAt(series, most))];
    const kept = shape === "stick" ? [most] : [begin, Math.min(least, most), Math.max(least, most), at - 1];
    for (const index of kept) put(index);
  }
  return { x: x.subarray(0, count), y: y.subarray(0, count), low, high };
}

function all(series: Series, first: number, last: number): Points {
  const count = Math.max(0, last - first);
  const [x, y] = [new Float64Array(count), new Float64Array(count)];
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < count; i++) {
    const [time, value] = [timeAt(series, first + i), valueAt(series, first + i)];
    x[i] = time;
    y[i] = value;
    if (Number.isNaN(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return { x, y, low, high };
}
