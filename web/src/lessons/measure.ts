/** Reads the numbers that lessons name from a run. */

import type { RunData, Table } from "../engine/types";
import { jainsIndex } from "../views/formulas";
import { fromBits } from "../views/rows";
import type { Measure, Stretch, TotalsTable } from "./lesson";

const NONE = new Float64Array();

/** Rows of a table over time that describe one object, with a column of theirs. */
class Rows {
  readonly time: Float64Array;
  private readonly rows: number[] = [];

  constructor(
    private readonly table: Table | undefined,
    key: string,
    index: number,
    over: Stretch | undefined,
  ) {
    this.time = table?.columns.time_ns?.values ?? NONE;
    const keys = table?.columns[key]?.values ?? NONE;
    const [from, to] = over ? over.map((s) => s * 1e9) : [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let row = 0; row < keys.length; row++) {
      const time = this.time[row] ?? 0;
      if (keys[row] === index && time >= (from ?? 0) && time <= (to ?? 0)) this.rows.push(row);
    }
  }

  /** Pairs of time in s and value; rows without a value are left out. */
  of(column: string): [number, number][] {
    const values = this.table?.columns[column]?.values ?? NONE;
    return this.rows
      .map((row): [number, number] => [(this.time[row] ?? 0) / 1e9, values[row] ?? Number.NaN])
      .filter(([, value]) => !Number.isNaN(value));
  }
}

function mean(pairs: [number, number][]): number {
  return pairs.reduce((sum, [, value]) => sum + value, 0) / pairs.length;
}

/** Growth of a cumulative column per second over a stretch. */
function growth(pairs: [number, number][]): number {
  const first = pairs[0];
  const last = pairs[pairs.length - 1];
  if (!first || !last || last[0] === first[0]) return Number.NaN;
  return (last[1] - first[1]) / (last[0] - first[0]);
}

/** Reads measures from one run. */
class Reader {
  constructor(private readonly run: RunData) {}

  flow(name: string, over?: Stretch): Rows {
    return new Rows(this.run.tables.flows, "flow", this.run.names.flows.indexOf(name), over);
  }

  queue(name: string, over?: Stretch): Rows {
    return new Rows(this.run.tables.queues, "queue", this.run.names.queues.indexOf(name), over);
  }

  /** Goodput in Mb/s: over the whole run from the totals, which need no samples. */
  goodput(name: string, over?: Stretch): number {
    if (over) return (growth(this.flow(name, over).of("delivered_bytes")) * 8) / 1e6;
    const index = this.run.names.flows.indexOf(name);
    const column = (key: string): number => this.run.tables.flow_totals?.columns[key]?.values[index] ?? Number.NaN;
    return (column("delivered_bytes") * 8e3) / (column("stop_ns") - column("start_ns"));
  }

  total(table: TotalsTable, column: string, of?: string): number {
    const values = this.run.tables[table]?.columns[column]?.values ?? NONE;
    const value = of === undefined ? values.reduce((a, b) => a + b, 0) : values[this.row(table, of)];
    const scale = column.endsWith("_ns") ? 1e6 : column.endsWith("_bytes") ? 1e3 : 1;
    return (value ?? Number.NaN) / scale;
  }

  /** The row of a table of totals that is about an object of this name; -1 if there is none. */
  private row(table: TotalsTable, of: string): number {
    const { names, tables } = this.run;
    switch (table) {
      case "flow_totals":
        return names.flows.indexOf(of);
      case "queue_totals":
        return names.queues.indexOf(of);
      case "station_totals":
        return names.stations.indexOf(of);
      case "datagram_totals":
        return tables[table]?.columns.flow?.values.indexOf(names.flows.indexOf(of)) ?? -1;
      case "subqueue_totals": {
        const of_queue = ([queue, , label]: [number, number, string]): boolean =>
          `${names.queues[queue]}/${label}` === of;
        const [queue, subqueue] = names.subqueues.find(of_queue) ?? [-1, -1];
        const columns = tables[table]?.columns;
        const queues = columns?.queue?.values ?? NONE;
        return queues.findIndex((one, row) => one === queue && columns?.subqueue?.values[row] === subqueue);
      }
    }
  }

  /** The last value of an algorithm's variable up to a time. */
  state(of: string, variable: string, at: number): number {
    const flow = this.run.names.flows.indexOf(of);
    const series = this.run.series.findIndex(
      (one) => one.owner === "flow" && one.index === flow && one.variable === variable,
    );
    const pairs = new Rows(this.run.tables.state, "series", series, [0, at]).of("value_bits");
    return fromBits(pairs[pairs.length - 1]?.[1] ?? Number.NaN);
  }

  jain(names: string[], over?: Stretch): number {
    return jainsIndex(names.map((name) => this.goodput(name, over)));
  }
}

/** When a value falls for the first time, s. */
function firstFall(pairs: [number, number][]): number {
  const at = pairs.findIndex(([, value], index) => index > 0 && value < (pairs[index - 1]?.[1] ?? 0));
  return pairs[at]?.[0] ?? Number.NaN;
}

/** The value of a measure in a run; NaN if the run does not have it. */
export function measured(measure: Measure, run: RunData): number {
  const reader = new Reader(run);
  switch (measure.what) {
    case "goodput":
      return reader.goodput(measure.flow, measure.over);
    case "ratio":
      return reader.goodput(measure.flow, measure.over) / reader.goodput(measure.to, measure.over);
    case "jain":
      return reader.jain(measure.flows ?? run.names.flows, measure.over);
    case "cwnd": {
      const over: Stretch | undefined = "at" in measure ? [0, measure.at] : measure.over;
      const values = reader
        .flow(measure.flow, over)
        .of("cwnd_bytes")
        .map(([, value]) => value / 1e3);
      if ("at" in measure) return values[values.length - 1] ?? Number.NaN;
      return measure.take === "max" ? Math.max(...values) : Math.min(...values);
    }
    case "total":
      return reader.total(measure.table, measure.column, measure.of);
    case "state":
      return reader.state(measure.flow, measure.variable, measure.at);
    case "rtt":
      return mean(reader.flow(measure.flow, measure.over).of("rtt_ns")) / 1e6;
    case "queue": {
      const pairs = reader.queue(measure.queue, measure.over).of("packets");
      return measure.take === "mean" ? mean(pairs) : Math.max(...pairs.map(([, value]) => value));
    }
    case "utilisation":
      return (growth(reader.queue(measure.queue, measure.over).of("forwarded_bytes")) * 8 * 100) / measure.rate / 1e6;
    case "grows_until":
      return firstFall(reader.flow(measure.flow, [measure.after ?? 0, Number.POSITIVE_INFINITY]).of("cwnd_bytes"));
    case "between": {
      const [from, to] = measure.after.map((after) =>
        measured({ what: "grows_until", flow: measure.flow, after }, run),
      );
      return (to ?? Number.NaN) - (from ?? Number.NaN);
    }
    case "reaches": {
      const pairs = reader.flow(measure.flow, [measure.after ?? 0, Number.POSITIVE_INFINITY]).of("cwnd_bytes");
      return pairs.find(([, value]) => value >= measure.kB * 1e3)?.[0] ?? Number.NaN;
    }
  }
}
