/** Quantities of scenario files: reads them, writes them, and lays them on logarithmic scales. */

/** A kind of quantity, with its units: the unit as written, and how many of the base unit it is. */
export interface Kind {
  /** Units from the smallest; the first one is the base unit where its factor is 1. */
  units: [string, number][];
  /** Other spellings that scenario files may have. */
  aliases: Record<string, number>;
}

export const RATE: Kind = {
  units: [
    ["b/s", 1],
    ["kb/s", 1e3],
    ["Mb/s", 1e6],
    ["Gb/s", 1e9],
    ["Tb/s", 1e12],
  ],
  aliases: { "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12 },
};

export const TIME: Kind = {
  units: [
    ["ns", 1e-9],
    ["us", 1e-6],
    ["ms", 1e-3],
    ["s", 1],
  ],
  aliases: { µs: 1e-6, min: 60, h: 3600 },
};

export const BYTES: Kind = {
  units: [
    ["B", 1],
    ["kB", 1e3],
    ["MB", 1e6],
    ["GB", 1e9],
  ],
  aliases: { TB: 1e12, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 },
};

export const PACKETS: Kind = { units: [["packets", 1]], aliases: { packet: 1 } };

/** A probability is a share: its base unit is 1, and it is written in percent. */
export const SHARE: Kind = { units: [["%", 0.01]], aliases: { "": 1 } };

/** The largest unit that leaves a value at 1 or more. */
function unit(value: number, kind: Kind): [string, number] {
  const fitting = kind.units.filter(([, factor]) => Math.abs(value) >= factor * 0.9999999);
  return fitting.at(-1) ?? kind.units[0] ?? ["", 1];
}

/** A number without digits that binary fractions left behind. */
const plain = (value: number): string => {
  const text = String(Number(value.toPrecision(12)));
  return text.includes("e")
    ? Number(text)
        .toFixed(12)
        .replace(/\.?0+$/, "")
    : text;
};

/** Writes a value of the base unit: `10 Mb/s`. Zero has the unit of the kind that is most in use. */
export function write(value: number, kind: Kind): string {
  const [name, factor] = value === 0 ? (kind.units[kind === TIME ? 3 : 0] ?? ["", 1]) : unit(value, kind);
  return `${plain(value / factor)} ${name}`;
}

/** A number whose commas may be those of thousands: `1,500` is 1.5 to some readers, and 1500 to others. */
const AMBIGUOUS = /^\s*[1-9]\d{0,2}(?:,\d{3})+(?!\d)/;

/**
 * Reads a quantity. A number without a unit has the unit of `like`; a comma is a decimal point where it can be nothing else.
 * @returns The value in the base unit; null if it is none.
 */
export function parse(text: string, kind: Kind, like?: string): number | null {
  if (AMBIGUOUS.test(text)) return null;
  const found = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*(\S*)\s*$/.exec(text.replace(",", "."));
  if (!found) return null;
  const name = found[2] || (like?.trim().split(/\s+/).at(-1) ?? "");
  const factor = new Map([...kind.units, ...Object.entries(kind.aliases)]).get(name);
  return factor === undefined ? null : Number((Number(found[1]) * factor).toPrecision(15));
}

/** The unit of a written quantity. */
export function unitOf(text: string): string {
  return text.trim().split(/\s+/).at(-1) ?? "";
}

/** The kind of a limit, by its unit: packets, bytes or time. */
export function kindOf(text: string): Kind {
  const name = unitOf(text);
  const has = (kind: Kind): boolean => kind.units.some(([one]) => one === name) || name in kind.aliases;
  return [PACKETS, BYTES, TIME].find(has) ?? PACKETS;
}

/** Steps of a decade: nearly even on a logarithmic scale, and round numbers. */
const DECADE = [1, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.7, 3, 3.3, 3.6, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 9];

/**
 * The values of a logarithmic slider, rising.
 * @param least - The lowest value, and the highest: `most`.
 * @param zero - Whether 0 stands before them.
 * @param whole - Whether values are whole numbers of the base unit.
 */
export function scale(least: number, most: number, zero = false, whole = false): number[] {
  const values = zero ? [0] : [];
  for (let decade = Math.floor(Math.log10(least)); 10 ** decade <= most; decade++) {
    for (const step of DECADE) {
      const value = Number((step * 10 ** decade).toPrecision(6));
      if (value >= least && value <= most && (!whole || Number.isInteger(value))) values.push(value);
    }
  }
  return values;
}

/** The position of the value on a scale that is nearest, by ratio. */
export function nearest(value: number, values: number[]): number {
  const distance = (one: number): number =>
    one === 0 || value === 0 ? (one === value ? -1 : 1e9) : Math.abs(Math.log(one / value));
  let best = 0;
  for (const [index, one] of values.entries()) if (distance(one) < distance(values[best] ?? 0)) best = index;
  return best;
}
