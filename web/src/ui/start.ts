/** Starts a page with the laboratory: loads the engine and the bundled traces, and runs what the texts hold. */

import wasmUrl from "../../engine/narrows_web_bg.wasm?url";
import { Engine } from "../engine/engine";
import { WorkerBackend } from "../engine/worker-backend";
import { traces } from "../model/presets";
import { watch } from "../model/runner";
import { backend, engine, texts } from "../model/state";
import { keepOffline } from "../offline/register";
import { connected } from "../remote/session";

/**
 * Starts the engine, and connects to the server behind the page if there is one.
 * @param root - Where the page is shown, or why it cannot be.
 * @param first - The scenario that is shown, or what gives it once the engine is there, unless there is one already.
 * @param show - Shows the page.
 */
export async function start(
  root: HTMLElement,
  first: string | (() => Promise<string>),
  show: () => void,
): Promise<void> {
  try {
    const loaded = await Engine.load(fetch(wasmUrl), await traces());
    engine.value = loaded;
    backend.value = await connected(loaded, new WorkerBackend(loaded.module, loaded.files));
    if (texts.a.peek() === "") {
      const text = typeof first === "string" ? first : await first();
      if (texts.a.peek() === "") texts.a.value = text;
    }
    watch();
    show();
    keepOffline();
  } catch (error) {
    root.textContent = `The laboratory cannot start: ${error instanceof Error ? error.message : String(error)}`;
  }
}
