/** The open animation: waits for a run with a packet log, and shows it with its controls. */

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  type Arm,
  failures,
  gates,
  packets,
  playhead,
  progress,
  ran,
  running,
  runs,
  scenarios,
  stopped,
  texts,
  wantPackets,
} from "../model/state";
import { Legend } from "./legend";
import { bounded, moveTo, nowNs, playing, readable, run, speed, step, toggle } from "./player";
import { type Scene, sceneOf } from "./scene";
import { Stage } from "./stage";
import { Status } from "./status";
import { reduced, Transport } from "./transport";

/** Time for which a scene is kept while runs follow each other, ms: dragging a setting does not index each run. */
const SETTLE_MS = 150;

/** Shows the packets of a run. */
export function Animation() {
  const arm = useSignal<Arm>("a");
  const scene = useSignal<Scene | null>(null);
  useEffect(() => wantPackets(), []);
  useSignalEffect(() => {
    const data = runs[arm.value].value;
    const scenario = ran[arm.value].value;
    if (!data?.log || !scenario) {
      scene.value = null;
      return;
    }
    const prepare = (): void => {
      const made = sceneOf(scenario, data);
      if (!made) return;
      const first = scene.peek() === null;
      scene.value = made;
      if (first) begin(made);
      // The run may be shorter than the one before.
      moveTo(made, nowNs());
    };
    if (scene.peek() === null) prepare();
    else {
      const timer = setTimeout(prepare, SETTLE_MS);
      return () => clearTimeout(timer);
    }
  });
  useSignalEffect(() => {
    if (texts.b.value === null) arm.value = "a";
  });
  useSignalEffect(() => {
    const shown = scene.value;
    if (shown && playing.value) return run(shown);
  });
  useEffect(
    () => () => {
      playing.value = false;
    },
    [],
  );
  const shown = scene.value;
  return (
    <>
      {texts.b.value !== null && (
        <label>
          Scenario{" "}
          <select
            value={arm.value}
            onChange={(event) => {
              arm.value = event.currentTarget.value as Arm;
            }}
          >
            <option value="a">A</option>
            <option value="b">B</option>
          </select>
        </label>
      )}
      {shown ? (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would put a frame and a legend around it
        <div role="group" aria-label="Packets in motion" onKeyDown={(event) => onKey(event, shown)}>
          <Stage scene={shown} />
          <Transport scene={shown} />
          <Status scene={shown} />
          <Legend scene={shown} />
        </div>
      ) : (
        <p role="status">{reason(arm.value)}</p>
      )}
    </>
  );
}

/** Says that the run with the log is under way, or why there is none. */
function reason(arm: Arm): string {
  const failure = failures[arm].value;
  if (scenarios[arm].value?.ok === false) {
    return "The scenario has problems. Its packets are shown when they are corrected.";
  }
  if (gates[arm].value !== null) return "The run takes long. Its packets are shown when it is allowed and has ended.";
  if (failure) return `There are no packets to show: ${failure}`;
  if (stopped[arm].value) return "The run was stopped. Run it again to see its packets.";
  if (packets.value && running.value === null && runs[arm].value) {
    return "This run has no packet log: it has more packets than a log holds, or comes from files. Shorten it to see them.";
  }
  const share = progress.value === null ? "" : ` (${Math.round(progress.value * 100)} %)`;
  return `Running the scenario with a log of its packets${share}.`;
}

/** Begins where the first packet is sent, unless the plots have set a time. */
function begin(scene: Scene): void {
  speed.value = readable(scene);
  if (playhead.peek() === 0) moveTo(scene, scene.index.log.time_ns[0] ?? 0);
}

/** Factor of speed between two presses of a key. */
const FASTER = 10 ** 0.25;

/** Keys work in the whole animation, but those that a control uses itself are left to it. */
function onKey(event: KeyboardEvent, scene: Scene): void {
  const target = event.target as HTMLElement;
  const own = target.closest("input, select, textarea") !== null;
  if (own || event.ctrlKey || event.altKey || event.metaKey) return;
  const by = event.shiftKey ? "rtt" : "event";
  const actions: Record<string, () => void> = {
    ArrowRight: () => step(scene, by, 1),
    ArrowLeft: () => step(scene, by, -1),
    ArrowUp: () => {
      speed.value = bounded(speed.peek() * FASTER);
    },
    ArrowDown: () => {
      speed.value = bounded(speed.peek() / FASTER);
    },
  };
  if (target.closest("button, summary, a") === null) {
    actions[" "] = () => {
      if (!reduced()) toggle(scene);
    };
  }
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}
