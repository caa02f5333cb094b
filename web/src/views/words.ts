/** Numbers as text. */

const formats = new Map<number, Intl.NumberFormat>();

/** Thousands separated, up to this many decimals. Making a format takes far longer than using it. */
function format(digits: number): Intl.NumberFormat {
  const known = formats.get(digits);
  if (known) return known;
  const made = new Intl.NumberFormat("en", { maximumFractionDigits: digits });
  formats.set(digits, made);
  return made;
}

const times = new Intl.NumberFormat("en", { maximumFractionDigits: 6, useGrouping: false });

/** Four significant digits, thousands separated; a dash for "no value". */
export function written(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = value === 0 ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
  return format(Math.min(digits, 9)).format(value);
}

/** A time in seconds, to the microsecond. */
export function seconds(value: number): string {
  return times.format(value);
}

/** Texts of an axis's places, with as many decimals as tell them apart. */
export function scaled(places: number[]): string[] {
  const step = places.length < 2 ? 1 : Math.abs((places[1] ?? 0) - (places[0] ?? 0));
  let digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  if (digits < 9 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
  const { format: text } = format(Math.min(digits, 20));
  return places.map((place) => text(place));
}

/** Round places between two values: about `count`, at 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, count: number): number[] {
  const wanted = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = ([1, 2, 5, 10].find((one) => one * power >= wanted * 0.999) ?? 10) * power;
  const out: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    out.push(Number((i * step).toPrecision(12)));
  return out;
}

/** Joins words: one; one and two; one, two and three. */
export function listed(words: string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
