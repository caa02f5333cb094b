/** The stretch of time that all plots show, as numbers, and what runs log for the plots. */

import { playhead, range } from "../model/state";
import { duration, logging, show, stretch } from "./shown";

const number = (value: number): number => Number(value.toPrecision(7));

/** From, to, and the whole run. */
export function Toolbar() {
  const [from, to] = stretch.value;
  const end = duration.value;
  const typed = (input: HTMLInputElement, act: (value: number) => void): void => {
    if (input.value !== "" && Number.isFinite(input.valueAsNumber)) act(input.valueAsNumber);
  };
  return (
    <form class="toolbar" onSubmit={(event) => event.preventDefault()} aria-label="Time">
      <label>
        From{" "}
        <input
          type="number"
          step="any"
          min={0}
          max={end}
          value={number(from)}
          onChange={(event) => typed(event.currentTarget, (value) => show(value, to))}
        />
      </label>
      <label>
        to{" "}
        <input
          type="number"
          step="any"
          min={0}
          max={end}
          value={number(to)}
          onChange={(event) => typed(event.currentTarget, (value) => show(from, value))}
        />{" "}
        s
      </label>
      <button
        type="button"
        disabled={range.value === null}
        onClick={() => {
          range.value = null;
        }}
      >
        Whole run
      </button>
      <Playhead end={end} />
      <label>
        <input
          type="checkbox"
          checked={logging.value}
          onChange={(event) => {
            logging.value = event.currentTarget.checked;
          }}
        />{" "}
        Log packets
      </label>
    </form>
  );
}

/** The playhead as a number; a component of its own, since the animation moves it. */
function Playhead({ end }: { end: number }) {
  return (
    <label>
      Playhead{" "}
      <input
        type="number"
        step="any"
        min={0}
        max={end}
        value={Math.round(playhead.value * 1e4) / 1e4}
        onChange={(event) => {
          const { valueAsNumber } = event.currentTarget;
          if (Number.isFinite(valueAsNumber)) playhead.value = Math.max(0, Math.min(end, valueAsNumber));
        }}
      />{" "}
      s
    </label>
  );
}
