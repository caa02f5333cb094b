import { expect, test } from "vitest";
import { length, type Series, valueAt } from "../../src/views/figure";
import { MOST_POINTS, reduced } from "../../src/views/reduce";

/** Noise that is the same every time. */
function noise(count: number): Series {
  let state = 1;
  const value = Float64Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state % 1000;
  });
  const time = Float64Array.from({ length: count }, (_, i) => i * 1e6);
  return { time, value, rows: null, scale: 1, kind: "gauge", before: null };
}

test("few points are all there", () => {
  const found = reduced(noise(MOST_POINTS), "linear", 0, 4, 100);
  expect(found.x.length).toBe(MOST_POINTS);
});

test("each pixel column keeps its first, smallest, largest and last point", () => {
  const series = noise(100_000);
  const columns = 640;
  const found = reduced(series, "linear", 0, 100, columns);
  expect(found.x.length).toBeLessThanOrEqual(4 * (columns + 2));
  const column = (time: number): number => Math.floor(time / (100 / columns));
  const points = Array.from(found.x, (time, i): [number, number] => [time, found.y[i] ?? 0]);
  for (const wanted of [0, 1, 317, 639]) {
    const all: number[] = [];
    for (let i = 0; i < length(series); i++) if (column(i / 1000) === wanted) all.push(valueAt(series, i));
    const kept = points.filter(([time]) => column(time) === wanted).map(([, value]) => value);
    expect(Math.min(...kept)).toBe(Math.min(...all));
    expect(Math.max(...kept)).toBe(Math.max(...all));
    expect(kept[0]).toBe(all[0]);
    expect(kept.at(-1)).toBe(all.at(-1));
  }
  expect([...found.x]).toEqual([...found.x].sort((a, b) => a - b));
});

test("a stretch of time has the points inside it, and one beyond each end", () => {
  const found = reduced(noise(100), "linear", 0.0105, 0.0305, 100);
  expect(found.x[0]).toBeCloseTo(0.01, 9);
  expect(found.x.at(-1)).toBeCloseTo(0.031, 9);
});

test("values that are missing are no extremes", () => {
  const series = noise(10_000);
  series.value.fill(Number.NaN, 0, 5000);
  const found = reduced(series, "linear", 0, 10, 50);
  expect(found.low).toBe(Math.min(...series.value.subarray(5000)));
});

test("a rate is the increase of a counter over the time that passed", () => {
  const time = Float64Array.of(1e9, 2e9, 4e9);
  const value = Float64Array.of(0, 125_000, 375_000);
  const series: Series = { time, value, rows: null, scale: 8e-6, kind: "rate", before: null };
  expect([0, 1, 2].map((i) => valueAt(series, i))).toEqual([Number.NaN, 1, 1]);
});
