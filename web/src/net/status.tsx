/** What the drawing shows, as text: a sentence that is read aloud now and then, and a table. */

import { useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { playhead } from "../model/state";
import { playing } from "./player";
import { type Counts, countsAt, inView, type Scene } from "./scene";
import { eventsAt, inWords } from "./words";

/** Time between two sentences while the animation plays, and after a step, ms. */
const PLAYING_MS = 2_000;
const PAUSED_MS = 200;

/** The sentence and the table of a scene. */
export function Status({ scene }: { scene: Scene }) {
  const counts = useSignal<Counts[]>([]);
  const at = useSignal(0);
  const events = useSignal("");
  const told = useRef(Number.NEGATIVE_INFINITY);
  useSignalEffect(() => {
    const seconds = playhead.value;
    const tell = (): void => {
      told.current = performance.now();
      at.value = seconds;
      events.value = playing.peek() ? "" : eventsAt(scene, Math.round(seconds * 1e9));
      counts.value = countsAt(scene, Math.round(seconds * 1e9));
    };
    const wait = playing.value ? PLAYING_MS : PAUSED_MS;
    const left = told.current + wait - performance.now();
    if (left <= 0) tell();
    else {
      const timer = setTimeout(tell, left);
      return () => clearTimeout(timer);
    }
  });
  const open = useSignal(false);
  return (
    <>
      <p class="network-status" aria-live="polite" data-packets={inView(counts.value)}>
        {inWords(counts.value, at.value)} {events.value}
      </p>
      <details onToggle={(event) => (open.value = event.currentTarget.open)}>
        <summary>Links and queues as a table</summary>
        {open.value && <CountsTable counts={counts.value} seconds={at.value} />}
      </details>
    </>
  );
}

function CountsTable({ counts, seconds }: { counts: Counts[]; seconds: number }) {
  return (
    <div class="network-table">
      <table>
        <caption>Packets at {seconds.toFixed(6)} s</caption>
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col">On the link</th>
            <th scope="col">Waiting</th>
            <th scope="col">Dropped so far</th>
            <th scope="col">Lost on the link so far</th>
          </tr>
        </thead>
        <tbody>
          {counts.map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td>{one.onWire ?? "–"}</td>
              <td>
                {Number.isNaN(one.waiting) ? "–" : one.waiting}
                {one.sampled && " (latest sample)"}
              </td>
              <td>{one.dropped}</td>
              <td>{one.corrupted}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
