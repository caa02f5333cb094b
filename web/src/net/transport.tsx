/** Controls of the animation: play, steps, speed, and the scrubber. */

import { useComputed } from "@preact/signals";
import { useId } from "preact/hooks";
import { playhead } from "../model/state";
import { FASTEST, moveTo, playing, SLOWEST, speed, step, toggle } from "./player";
import { rttAt, type Scene } from "./scene";
import { timeWords } from "./still";

/** Whether the user asked for less motion; nothing then moves by itself. */
export function reduced(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** A speed in words. */
export function speedWords(value: number): string {
  return `${Number(value.toPrecision(2))}×`;
}

/** A step of the scrubber, s: a power of ten of which a run has at least a thousand. */
function fine(end: number): number {
  return 10 ** (Math.floor(Math.log10(Math.max(end, 1e-6))) - 3);
}

/** The controls of a scene. */
export function Transport({ scene }: { scene: Scene }) {
  const id = useId();
  const calm = reduced();
  const end = scene.index.until / 1e9;
  const now = useComputed(() => `${playhead.value.toFixed(6)} s`);
  const rtt = useComputed(() => `Next RTT (${timeWords(rttAt(scene, Math.round(playhead.value * 1e9)))})`);
  const rate = useComputed(() => Math.log10(speed.value));
  const rateText = useComputed(() => `${speedWords(speed.value)} real time`);
  return (
    <div class="network-transport">
      <div class="network-buttons">
        <button type="button" disabled={calm} onClick={() => toggle(scene)}>
          {playing.value ? "Pause" : "Play"}
        </button>
        <button type="button" onClick={() => step(scene, "event", -1)}>
          Previous event
        </button>
        <button type="button" onClick={() => step(scene, "event", 1)}>
          Next event
        </button>
        <button type="button" onClick={() => step(scene, "rtt", 1)}>
          {rtt}
        </button>
        <div class="network-speed">
          <label htmlFor={`${id}-speed`}>Speed</label>
          <input
            id={`${id}-speed`}
            type="range"
            min={SLOWEST}
            max={FASTEST}
            step="0.05"
            value={rate}
            aria-valuetext={rateText}
            onInput={(event) => {
              speed.value = 10 ** Number(event.currentTarget.value);
            }}
          />
          <span class="network-number">{rateText}</span>
        </div>
      </div>
      {calm && (
        <p class="network-note">Reduced motion is set: nothing plays. Steps and the time below move the packets.</p>
      )}
      <div class="network-time">
        <label htmlFor={`${id}-time`}>Time</label>
        <input
          id={`${id}-time`}
          type="range"
          min="0"
          max={end}
          step={fine(end)}
          value={playhead}
          aria-valuetext={now}
          onInput={(event) => moveTo(scene, Number(event.currentTarget.value) * 1e9)}
        />
        <span class="network-number">{now}</span>
      </div>
    </div>
  );
}
