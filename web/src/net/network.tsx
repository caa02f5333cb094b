/** The network with its packets in motion. Closed, it asks for no packet log and draws nothing. */

import { signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { playhead } from "../model/state";
import { remember, rememberSwitch } from "../share/content";
import { Animation } from "./animation";
import { playing } from "./player";
import "./net.css";

/** Whether the animation is open. Links to the page hold it, and the time that it shows. */
const open = signal(false);
rememberSwitch("network", open);
remember("playhead", {
  get: () => (open.value && !playing.value && playhead.value > 0 ? playhead.value : undefined),
  put: (given = 0) => {
    if (typeof given === "number" && given >= 0) playhead.value = given;
  },
});

/** The section: a button, and the animation while it is open. */
export function Network() {
  const id = useId();
  return (
    <section aria-label="Network" class="network">
      <button
        type="button"
        aria-expanded={open.value}
        aria-controls={id}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        {open.value ? "Hide packets" : "Show packets"}
      </button>
      <div id={id}>{open.value && <Animation />}</div>
    </section>
  );
}
