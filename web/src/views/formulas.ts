/** Metrics: pure functions of counters, with the definitions of `narrows.metrics.formulas`. NaN is "no value". */

const NS_PER_MS = 1e6;

/** Time in which a flow could send, from its start to its end, ns. */
export function activeNs(start: number, stop: number, finished: number): number {
  return Math.max(0, (Number.isNaN(finished) ? stop : finished) - start);
}

/** Mean rate R = 8 b / t, Mb/s; goodput of delivered bytes, throughput of arrived ones (RFC 5166, section 2.1). */
export function rateMbps(bytes: number, ns: number): number {
  return ns <= 0 ? Number.NaN : (bytes * 8 * 1000) / ns;
}

/** Arithmetic mean of measured times, ms. */
export function meanMs(sum: number, count: number): number {
  return count === 0 ? Number.NaN : sum / count / NS_PER_MS;
}

/** Share of a part in a whole, of 1. */
export function ratio(part: number, whole: number): number {
  return whole === 0 ? Number.NaN : part / whole;
}

/** Utilisation U = 8 forwarded / capacity, of 1 (RFC 5166, section 2.1.1). */
export function utilisation(bytes: number, bits: number): number {
  return ratio(bytes * 8, bits);
}

/**
 * Jain's fairness index J = (sum x)^2 / (n sum x^2): from 1/n (one has everything) to 1 (all have the same). Jain, Chiu
 * and Hawe (1984), DEC-TR-301; RFC 5166, section 2.3. NaN is left out.
 */
export function jainsIndex(values: number[]): number {
  const shares = values.filter((value) => !Number.isNaN(value));
  const peak = Math.max(0, ...shares.map(Math.abs));
  if (peak === 0) return Number.NaN;
  let [sum, squares] = [0, 0];
  for (const share of shares) {
    sum += share / peak;
    squares += (share / peak) ** 2;
  }
  return sum ** 2 / (shares.length * squares);
}
