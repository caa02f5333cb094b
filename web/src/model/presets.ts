/** Scenarios that the page offers: the bundled ones, with the traces that they name. */

/** A scenario that the page offers. */
export interface Preset {
  /** Name as on the command line. */
  name: string;
  title: string;
  toml: string;
}

const texts = import.meta.glob<string>("../../../scenarios/*.toml", { query: "?raw", import: "default", eager: true });

const urls = import.meta.glob<string>("../../../scenarios/traces/*", { query: "?url", import: "default", eager: true });

const FIRST = "dumbbell-cubic";

/** The bundled scenarios, the first one first. */
export const presets: Preset[] = Object.entries(texts)
  .map(([path, toml]) => {
    const name = path.replace(/^.*\/(.*)\.toml$/, "$1");
    const title = /^title = "(.*)"$/m.exec(toml)?.[1] ?? name;
    return { name, title, toml };
  })
  .sort((a, b) => Number(b.name === FIRST) - Number(a.name === FIRST) || a.name.localeCompare(b.name));

/** The traces that bundled scenarios name, by the names that they use. */
export async function traces(): Promise<Record<string, Uint8Array>> {
  const all = Object.entries(urls).map(async ([path, url]): Promise<[string, Uint8Array]> => {
    const bytes = await (await fetch(url)).arrayBuffer();
    return [path.replace(/^.*\/(traces\/.*)$/, "$1"), new Uint8Array(bytes)];
  });
  return Object.fromEntries(await Promise.all(all));
}
