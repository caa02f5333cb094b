/** Figures of router agents: flows by command (ACNS), and the window that a flow would be told (NGWA). */

import { type Figure, figure, type Line, line } from "./figure";
import type { Side } from "./figures";
import { peak, rowsBy, seriesOf, some } from "./rows";

/** Commands with their columns and colours. */
const COMMANDS = [
  ["normal", "flows_normal", "--good"],
  ["freeze", "flows_freeze", "--flow-4"],
  ["fallback", "flows_fallback", "--accent"],
] as const;

/** Routers that are shown: those with the most flows. */
const MOST = 4;

/** Figures of the routers that have a table of flows. */
export function routerFigures(sides: Side[]): Figure[] {
  const run = sides[0]?.run;
  const table = run?.tables.routers;
  if (!run || !table?.rows) return [];
  const busy = run.names.routers
    .map((name, index) => ({ name, index, most: peak(seriesOf(table, "router", index, "flows")) }))
    .filter(({ index, most }) => most > 0 && rowsBy(table, "router")[index]?.length)
    .sort((a, b) => b.most - a.most || a.index - b.index)
    .slice(0, MOST)
    .sort((a, b) => a.index - b.index);
  // A router that told all flows to go on as normal shows their number only.
  const told = ({ index }: { index: number }): boolean =>
    ["flows_freeze", "flows_fallback"].some((name) => peak(seriesOf(table, "router", index, name)) > 0);
  const telling = busy.some(told) ? busy.filter(told) : busy.slice(0, 1);
  const commands = telling.flatMap(({ name }) => {
    const lines = sides.flatMap((side) => commandLines(side, name));
    const note = "Flows in the router's table by the command that they would get now (ACNS).";
    return lines.length
      ? [figure({ id: `commands-${name}`, title: `Flows by command at ${name}`, unit: "flows", note, lines })]
      : [];
  });
  const windows = sides.flatMap((side) => busy.flatMap(({ name }, place) => windowLine(side, name, place)));
  if (!windows.length) return commands;
  const note = "Window that a flow would now be told by each router (NGWA).";
  return [...commands, figure({ id: "windows", title: "Window told by routers", unit: "kB", note, lines: windows })];
}

function commandLines({ run, arm }: Side, name: string): Line[] {
  const [table, index] = [run.tables.routers, run.names.routers.indexOf(name)];
  if (!table || index < 0) return [];
  const all = COMMANDS.map(([command, column, colour]) => ({
    command,
    colour,
    series: seriesOf(table, "router", index, column),
  }));
  if (!all.some(({ series }) => some(series, (value) => value > 0))) return [];
  return all.map(({ command, colour, series }) =>
    line({ name: command, key: `${name} ${command}`, arm, colour, series, shape: "hold" }),
  );
}

function windowLine({ run, arm }: Side, name: string, place: number): Line[] {
  const [table, index] = [run.tables.routers, run.names.routers.indexOf(name)];
  if (!table || index < 0) return [];
  const series = seriesOf(table, "router", index, "window_bytes", "gauge", 1e-3);
  if (!some(series, (value) => !Number.isNaN(value))) return [];
  return [line({ name, key: name, arm, colour: `--flow-${place % 6}`, series, shape: "hold" })];
}
