/** Starts the page: loads the engine and the bundled scenarios, then shows the application. */

import { render } from "preact";
import wasmUrl from "../engine/narrows_web_bg.wasm?url";
import { Engine } from "./engine/engine";
import { WorkerBackend } from "./engine/worker-backend";
import { presets, traces } from "./model/presets";
import { watch } from "./model/runner";
import { backend, engine, texts } from "./model/state";
import { App } from "./ui/app";

async function start(root: HTMLElement): Promise<void> {
  const loaded = await Engine.load(fetch(wasmUrl), await traces());
  engine.value = loaded;
  backend.value = new WorkerBackend(loaded.module, loaded.files);
  const [first] = presets;
  if (first && texts.a.peek() === "") texts.a.value = first.toml;
  watch();
  render(<App />, root);
}

const root = document.getElementById("app");
if (root) {
  start(root).catch((error: unknown) => {
    root.textContent = `The laboratory cannot start: ${error instanceof Error ? error.message : String(error)}`;
  });
}
