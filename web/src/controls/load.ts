/** Replaces the texts of the page by a scenario that it offers; the texts before can be brought back. */

import { batch, signal } from "@preact/signals";
import type { Engine } from "../engine/engine";
import type { Preset } from "../model/presets";
import { forget } from "../model/runner";
import { edited, engine, texts } from "../model/state";

/** The texts before a scenario was loaded, or B left out; null if there is nothing to bring back. */
export const former = signal<{ a: string; b: string | null } | null>(null);

/** Keeps the present texts, to be brought back after they were replaced. */
export function keep(): void {
  former.value = { a: texts.a.peek(), b: texts.b.peek() };
}

/** The text of a scenario's second arm; null if it has none. */
export function second(preset: Preset, writer: Pick<Engine, "set">): string | null {
  if (!preset.against) return null;
  return preset.against.reduce((text, [path, value]) => writer.set(text, path, value), preset.toml);
}

/** Shows a scenario in place of the present texts. */
export function load(preset: Preset): void {
  const loaded = engine.peek();
  if (!loaded) return;
  batch(() => {
    keep();
    forget();
    texts.a.value = preset.toml;
    texts.b.value = second(preset, loaded);
    edited.value = "a";
  });
}

/** Brings the former texts back. */
export function restore(): void {
  const before = former.peek();
  if (!before) return;
  batch(() => {
    texts.a.value = before.a;
    texts.b.value = before.b;
    if (before.b === null) edited.value = "a";
    former.value = null;
  });
}
