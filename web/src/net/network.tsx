/** The network with its packets in motion. Closed, it asks for no packet log and draws nothing. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Animation } from "./animation";
import "./net.css";

/** The section: a button, and the animation while it is open. */
export function Network() {
  const open = useSignal(false);
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
