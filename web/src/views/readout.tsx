/** Names, colours and values of a plot's lines at the cursor: its legend. */

import { cursor } from "../model/state";
import { type Figure, shownAt } from "./figure";
import { phaseColour } from "./paint";
import { off } from "./shown";
import { seconds, written } from "./words";

/** Most lines that a readout lists. */
const MOST = 10;

/** An entry of a readout. */
export interface Entry {
  name: string;
  value: string;
  colour: string;
  dashed: boolean;
  thin: boolean;
}

/** What a figure shows at a time: all lines, or those with the largest values. */
export function entries(figure: Figure, time: number | null): Entry[] {
  if (figure.custom) {
    const told = new Map(time === null ? [] : figure.custom.told(time));
    return figure.custom.words.map(({ name, colour }) => ({
      name,
      colour,
      dashed: false,
      thin: false,
      value: [...told].find(([what]) => what.startsWith(name))?.[1] ?? "",
    }));
  }
  const both = figure.lines.some((one) => one.arm === "b");
  let lines = figure.lines.filter((one) => one.listed && !off(one));
  const values = new Map(lines.map((one) => [one, time === null ? Number.NaN : shownAt(one, time)]));
  if (lines.length > MOST) {
    lines = lines.sort((a, b) => (values.get(b) || 0) - (values.get(a) || 0)).slice(0, MOST);
  }
  return lines.map((one) => ({
    name: both ? `${one.name} (${one.arm.toUpperCase()})` : one.name,
    value: time === null ? "" : told(values.get(one) ?? Number.NaN, figure.unit),
    colour: one.colour,
    dashed: one.dash.length > 0,
    thin: one.width < 1,
  }));
}

const told = (value: number, unit: string): string => (Number.isNaN(value) ? "–" : `${written(value)} ${unit}`);

/** The readout of a figure. */
export function Readout({ figure }: { figure: Figure }) {
  const time = cursor.value;
  const listed = entries(figure, time);
  const left = figure.custom ? 0 : figure.lines.filter((one) => one.listed && !off(one)).length - listed.length;
  return (
    <ul class="readout">
      {listed.map((one) => (
        <li key={one.name}>
          <span
            class={`swatch${one.dashed ? " dashed" : ""}${one.thin ? " thin" : ""}`}
            style={{ color: `var(${one.colour})` }}
          />
          {one.name} <b>{one.value}</b>
        </li>
      ))}
      {left > 0 && <li>{left} more</li>}
      {figure.words.map((word, index) => (
        <li key={word}>
          <span class="swatch block" style={{ color: `var(${phaseColour(word, index)})` }} />
          {word}
        </li>
      ))}
      <li class="when">{time !== null && `at ${seconds(Number(time.toPrecision(7)))} s`}</li>
    </ul>
  );
}
