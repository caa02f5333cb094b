/** In which state each flow's sender was over time, from the table `state`. */

import type { RunData, Series as Variable } from "../engine/types";
import type { Lane, Stretch } from "./figure";
import { column, fromBits, rowsBy } from "./rows";

/** Words for the states of a sender whose congestion control reports no phase of its own. */
const SLOW_START = "slow start";
const AVOIDANCE = "congestion avoidance";

/** Lanes of flows with the words that their stretches index. */
export interface Phases {
  lanes: Lane[];
  words: string[];
}

/** Whether the run has rows of states. */
export function sampled(run: RunData): boolean {
  return (run.tables.state?.rows ?? 0) > 0;
}

/**
 * Reads the phases of flows.
 *
 * A control's own phase comes first (BBR: STARTUP, DRAIN ...). Otherwise the phase is that of loss recovery, where
 * `open` is told apart by cwnd: slow start below ssthresh, congestion avoidance from there on (RFC 5681, section 3.1).
 */
export function phases(run: RunData, flows: number[], end: number): Phases {
  const words: string[] = [];
  const lanes = flows.flatMap((flow): Lane[] => {
    const mine = run.series.map((one, index) => ({ one, index })).filter(({ one }) => isPhase(one, flow));
    const chosen = mine.find(({ one }) => one.algorithm !== "tcp") ?? mine[0];
    if (!chosen) return [];
    const stretches = read(run, flow, chosen.one, chosen.index, end, words);
    return [{ key: run.names.flows[flow] ?? "", colour: `--flow-${flow % 6}`, stretches }];
  });
  return { lanes, words };
}

function isPhase(one: Variable, flow: number): boolean {
  return one.owner === "flow" && one.index === flow && one.variable === "phase" && one.words.length > 0;
}

function read(run: RunData, flow: number, variable: Variable, index: number, end: number, words: string[]): Stretch[] {
  const { state, flows } = run.tables;
  if (!state) return [];
  const [time, bits] = [column(state, "time_ns"), column(state, "value_bits")];
  const slow = slowStart(flows ? rowsBy(flows, "flow")[flow] : undefined, run);
  const wordOf = (value: number, at: number): number => {
    const name = variable.words[value] ?? String(value);
    const open = variable.algorithm === "tcp" && (name === "open" || name === "disorder");
    const word = open ? (slow(at) ? SLOW_START : AVOIDANCE) : name;
    const found = words.indexOf(word);
    return found >= 0 ? found : words.push(word) - 1;
  };
  const stretches: Stretch[] = [];
  /** The stretch that lasts until the next row; null after a row without a value. */
  let last = null as Stretch | null;
  for (const row of rowsBy(state, "series")[index] ?? []) {
    const [value, at] = [fromBits(bits[row] ?? Number.NaN), time[row] ?? 0];
    if (last) last.to = at / 1e9;
    if (Number.isNaN(value)) {
      last = null;
      continue;
    }
    const word = wordOf(value, at);
    if (last?.word === word) continue;
    last = { from: at / 1e9, to: end, word };
    stretches.push(last);
  }
  if (last) last.to = end;
  return stretches;
}

/** Says whether cwnd was below ssthresh at times that are asked for in order. */
function slowStart(rows: Uint32Array | undefined, run: RunData): (time: number) => boolean {
  const flows = run.tables.flows;
  const [times, cwnd, ssthresh] = ["time_ns", "cwnd_bytes", "ssthresh_bytes"].map((name) => column(flows, name));
  let at = 0;
  return (time) => {
    if (!rows || !times || !cwnd || !ssthresh) return false;
    while (at + 1 < rows.length && (times[rows[at + 1] ?? 0] ?? 0) <= time) at += 1;
    const row = rows[at] ?? 0;
    const limit = ssthresh[row] ?? Number.NaN;
    return Number.isNaN(limit) || (cwnd[row] ?? 0) < limit;
  };
}
