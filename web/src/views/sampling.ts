/** Changes what the scenarios' texts sample over time. */

import { type Arm, engine, texts } from "../model/state";
import { sides } from "./shown";

/** Asks for the internal state of algorithms: `[sampling] state = true`, in whichever form the text gives sampling. */
export function sampleStates(): void {
  for (const { arm, resolved } of sides.peek()) {
    const interval = resolved.sampling?.interval_ns;
    const word = typeof interval === "number" ? `${interval / 1e6} ms` : String(resolved.sampling?.kind ?? "100 ms");
    change(arm, [
      ["sampling.state", "true"],
      ["sampling", `{ interval = "${word}", state = true }`],
    ]);
  }
}

/** Asks for samples where the text asks for none. */
export function sampleTime(): void {
  for (const { arm } of sides.peek()) change(arm, [["sampling", '"100 ms"']]);
}

/** Makes the first of the changes after which the text is valid. */
function change(arm: Arm, tries: [string, string][]): void {
  const [loaded, text] = [engine.peek(), texts[arm].peek()];
  if (!loaded || text === null) return;
  for (const [path, value] of tries) {
    try {
      const next = loaded.set(text, path, value);
      if (!loaded.parse(next, "scenario.toml").ok) continue;
      texts[arm].value = next;
      return;
    } catch {
      // The path leads nowhere, because sampling is a single value: the next change replaces it.
    }
  }
}
