/** What a lesson consists of. */

/**
 * A number that a run yields. Times are in s. A stretch `over` is from and to, without it the whole run.
 *
 * - `goodput`: payload delivered in order, Mb/s.
 * - `ratio`: goodput of `flow` over that of `to`.
 * - `jain`: Jain's index of the goodputs of `flows` (all without it).
 * - `cwnd`: of a flow, kB: its greatest or least over the stretch, or its value `at` a time.
 * - `total`: a column of a table of totals; `_ns` becomes ms, `_bytes` kB. Without `of`, the sum over all rows. A
 *   sub-queue is named after its queue: `r1->r2/l4s`.
 * - `state`: the last value of a variable of a flow's congestion control up to a time, in the variable's unit.
 * - `rtt`: mean of the samples of a flow's table over the stretch, ms.
 * - `queue`: mean or greatest of the waiting packets over the stretch.
 * - `utilisation`: bits that left a queue for the link over the stretch, of the `rate` in Mb/s, %.
 * - `grows_until`: when a flow's cwnd falls for the first time after `after`, s.
 * - `between`: time from that fall after `after[0]` to that after `after[1]`, s.
 * - `reaches`: when a flow's cwnd is `kB` or more for the first time after `after`, s.
 */
export type Measure =
  | { what: "goodput"; flow: string; over?: Stretch }
  | { what: "ratio"; flow: string; to: string; over?: Stretch }
  | { what: "jain"; flows?: string[]; over?: Stretch }
  | { what: "cwnd"; flow: string; take: "max" | "min"; over?: Stretch }
  | { what: "cwnd"; flow: string; at: number }
  | { what: "total"; table: TotalsTable; column: string; of?: string }
  | { what: "state"; flow: string; variable: string; at: number }
  | { what: "rtt"; flow: string; over?: Stretch }
  | { what: "queue"; queue: string; take: "mean" | "max"; over?: Stretch }
  | { what: "utilisation"; queue: string; rate: number; over?: Stretch }
  | { what: "grows_until"; flow: string; after?: number }
  | { what: "between"; flow: string; after: [number, number] }
  | { what: "reaches"; flow: string; kB: number; after?: number };

/** Tables of totals that measures read. */
export type TotalsTable = "flow_totals" | "queue_totals" | "station_totals" | "datagram_totals" | "subqueue_totals";

/** From and to, s. */
export type Stretch = [number, number];

/** A number of an answer, with the run that gives it. */
export interface Check {
  /** Changes of the lesson's scenario: values in TOML by path. */
  changes?: Record<string, string>;
  measure: Measure;
  /** What the answer says. A test compares it with the run. */
  value: number;
  /** Shown after the value; empty for a ratio or an index. */
  unit: string;
  /** Greatest difference from the run, in the same unit. */
  tolerance: number;
}

/** A link to a source or a page. `href` begins with `docs/` for a page of the documentation. */
export interface Link {
  label: string;
  href: string;
}

/** A number that the page shows of each run, to watch while trying. */
export interface Watched {
  label: string;
  measure: Measure;
  unit: string;
}

/**
 * A lesson. Texts are paragraphs; `code` is between backticks. In `answer`, `{name}` is the number of the check of
 * that name with its unit.
 */
export interface Lesson {
  /** Part of the address. */
  name: string;
  title: string;
  /** What it is about, in a sentence, for the list of lessons. */
  summary: string;
  text: string[];
  sources: Link[];
  docs: Link[];
  toml: string;
  /** The question, and what to change and to watch to answer it. */
  question: string;
  steps: string[];
  watch: Watched[];
  hints: string[];
  answer: string[];
  checks: Record<string, Check>;
}
