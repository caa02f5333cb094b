/** Keeps the address's fragment at what the page shows, and shows what a fragment holds. */

import { batch, effect, signal } from "@preact/signals";
import { second } from "../controls/load";
import { type Preset, presets } from "../model/presets";
import { forget } from "../model/runner";
import { edited, engine, texts } from "../model/state";
import { claims, LinkFailure, pack, unpack } from "./codec";
import { present, read, show, written } from "./content";

/** Time without a change before the address is written, ms. Browsers allow about 100 writes in 30 s. */
const QUIET_MS = 500;

/** Why the page's link could not be opened or made; null if it could. */
export const trouble = signal<string | null>(null);

/** The fragment that was written or read last. */
let last = "";

const fragment = (): string => location.hash.slice(1);

/**
 * Shows what the address's fragment holds: a packed content, or `scenario=NAME`.
 * @returns Whether it held something that could be shown.
 */
export async function open(): Promise<boolean> {
  const text = fragment();
  const [, name] = /^scenario=([\w-]+)$/.exec(text) ?? [];
  if (name !== undefined) {
    const preset = presets.find((one) => one.name === name);
    if (preset) take(preset);
    trouble.value = preset ? null : `There is no scenario ${name} in this page. Choose one of the list.`;
    return preset !== undefined;
  }
  if (!claims(text)) return false;
  try {
    show(read(await unpack(text)));
    last = text;
    trouble.value = null;
    return true;
  } catch (error) {
    // Whatever a link holds, the page begins.
    const message = error instanceof Error ? error.message : String(error);
    trouble.value = error instanceof LinkFailure ? message : `The link cannot be opened: ${message}`;
    return false;
  }
}

/** Shows a scenario of the list; its second arm follows when the engine, which writes it, is loaded. */
function take(preset: Preset): void {
  forget();
  batch(() => {
    texts.a.value = preset.toml;
    texts.b.value = null;
    edited.value = "a";
  });
  if (!preset.against) return;
  const end = effect(() => {
    const loaded = engine.value;
    if (!loaded || texts.a.peek() !== preset.toml) return;
    texts.b.value = second(preset, loaded);
    queueMicrotask(() => end());
  });
}

/** The link to what the page shows. */
export async function link(): Promise<URL> {
  const url = laboratory();
  url.hash = await pack(written(present()));
  return url;
}

/** The address of the laboratory, also from a lesson's page below it. */
export function laboratory(): URL {
  const url = new URL(location.href);
  url.hash = "";
  url.search = "";
  url.pathname = url.pathname.replace(/lessons\/.*$/, "");
  return url;
}

/** Writes the fragment when the content has changed and then been quiet, and reads it when the user changes it. */
export function follow(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let first = true;
  let number = 0;
  const end = effect(() => {
    const text = written(present());
    clearTimeout(timer);
    const mine = ++number;
    // A page that was just opened keeps its address until something changes.
    if (first) {
      first = false;
      return;
    }
    timer = setTimeout(async () => {
      try {
        const packed = await pack(text);
        if (mine !== number) return;
        last = packed;
        history.replaceState(history.state, "", `#${packed}`);
      } catch (error) {
        if (error instanceof LinkFailure) trouble.value = error.message;
      }
    }, QUIET_MS);
  });
  const changed = (): void => {
    if (fragment() !== last) void open();
  };
  addEventListener("hashchange", changed);
  return () => {
    end();
    clearTimeout(timer);
    removeEventListener("hashchange", changed);
  };
}
