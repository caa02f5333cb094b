/** Steps through the calls of a user's control: a list, and a table of the values of one call. */

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { MOST_CALLS } from "../engine/own";
import type { Call } from "../engine/types";
import { edited, engine, calls as keep, playhead, runs } from "../model/state";
import { indexAt, rows, timeOf, visible, type Words } from "./calls";
import "./calls.css";

const ROW_PX = 24;
const LIST_PX = 240;

const NO_WORDS: Words = { kinds: [], phases: [] };

function kB(bytes: number | undefined): string {
  return bytes === undefined || Number.isNaN(bytes) ? "-" : (bytes / 1e3).toFixed(1);
}

function Line({ call, index, chosen, pick }: { call: Call; index: number; chosen: boolean; pick: () => void }) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
    <div
      id={`call-${index}`}
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      class="call"
      style={{ top: `${index * ROW_PX}px` }}
      onClick={pick}
    >
      <span>{timeOf(call).toFixed(4)}</span>
      <span>{call.object}</span>
      <span>{call.hook}</span>
      <span>{kB(call.before.cwnd)}</span>
      <span>{kB(call.after[0])}</span>
    </div>
  );
}

/** All values of one call. */
function Values({ call, words }: { call: Call; words: Words }) {
  return (
    <div class="values">
      <table>
        <caption>
          {call.hook} at {timeOf(call).toFixed(6)} s, object {call.object}
        </caption>
        <thead>
          <tr>
            <th scope="col">argument</th>
            <th scope="col">before</th>
            <th scope="col">after</th>
          </tr>
        </thead>
        <tbody>
          {rows(call, words).map(({ argument, name, before, after }) => (
            <tr key={`${argument}.${name}`} class={after !== null && after !== before ? "changed" : ""}>
              <th scope="row">
                {argument}.{name}
              </th>
              <td>{before}</td>
              <td>{after ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The list of calls. Arrow keys, Page Up and Down, Home and End move; the plots' playhead follows, and leads. */
function Steps({ list }: { list: Call[] }) {
  const box = useRef<HTMLDivElement>(null);
  const scroll = useSignal(0);
  const index = useSignal(indexAt(list, playhead.peek()));
  const words = useMemo<Words>(() => engine.peek()?.hooks() ?? NO_WORDS, []);

  const reveal = (at: number): void => {
    const element = box.current;
    if (!element) return;
    const top = at * ROW_PX;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW_PX > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + ROW_PX - element.clientHeight;
    }
  };
  const go = (to: number): void => {
    const next = Math.min(list.length - 1, Math.max(0, to));
    const call = list[next];
    if (!call) return;
    index.value = next;
    playhead.value = timeOf(call);
    reveal(next);
  };
  // Where several calls were made at one time, the chosen one stays.
  const follow = (time: number): void => {
    const call = list[index.peek()];
    if (!call || timeOf(call) !== time) index.value = indexAt(list, time);
    reveal(index.peek());
  };
  useSignalEffect(() => follow(playhead.value));
  // A new run has other calls, and may have fewer.
  useEffect(() => follow(playhead.peek()), [list]);

  const keys: Record<string, number> = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = keys[event.key];
    if (step !== undefined) go(index.peek() + step);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(list.length - 1);
    else return;
    event.preventDefault();
  };
  const { from, to } = visible(scroll.value, LIST_PX, ROW_PX, list.length);
  const call = list[index.value];
  return (
    <>
      <div class="step">
        <button type="button" onClick={() => go(index.peek() - 1)} disabled={index.value === 0}>
          Previous call
        </button>
        <button type="button" onClick={() => go(index.peek() + 1)} disabled={index.value >= list.length - 1}>
          Next call
        </button>
        <span role="status">
          {index.value + 1} of {list.length}
          {list.length >= MOST_CALLS && `; later calls are not kept`}
        </span>
      </div>
      <div class="call head" aria-hidden="true">
        <span>time, s</span>
        <span>object</span>
        <span>hook</span>
        <span>cwnd, kB</span>
        <span>after, kB</span>
      </div>
      <div
        ref={box}
        class="calls"
        role="listbox"
        tabIndex={0}
        aria-label="Calls: time, object, hook, cwnd before and after"
        aria-activedescendant={`call-${index.value}`}
        style={{ height: `${LIST_PX}px` }}
        onScroll={(event) => {
          scroll.value = event.currentTarget.scrollTop;
        }}
        onKeyDown={onKeyDown}
      >
        <div style={{ height: `${list.length * ROW_PX}px` }} role="presentation">
          {list.slice(from, to).map((one, offset) => {
            const at = from + offset;
            return <Line key={at} call={one} index={at} chosen={at === index.value} pick={() => go(at)} />;
          })}
        </div>
      </div>
      <p class="notes">
        Each end of a flow that uses the control has an object: 0 and 1 for the first such flow to start (0 is the end
        that connects), 2 and 3 for the next one.
      </p>
      {call && <Values call={call} words={words} />}
    </>
  );
}

/** The switch that lets runs keep their calls, and the calls of the last run. */
export function CallsView() {
  const list = useComputed(() => runs[edited.value].value?.calls ?? []);
  return (
    <div class="stepping">
      <label>
        <input
          type="checkbox"
          checked={keep.value}
          onChange={(event) => {
            keep.value = event.currentTarget.checked;
          }}
        />{" "}
        Keep the calls of a run, to step through them
      </label>
      {keep.value && list.value.length > 0 && <Steps list={list.value} />}
      {keep.value && list.value.length === 0 && <p>The last run called no hook of yours: no flow uses the control.</p>}
    </div>
  );
}
