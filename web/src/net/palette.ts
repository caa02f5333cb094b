/** Colours of the page as canvas styles. */

const NAMES = ["ink", "muted", "faint", "line", "rule", "paper", "panel", "router", "host", "accent", "road"] as const;

/** The page's colours by name, and those of flows. */
export type Palette = Record<(typeof NAMES)[number], string> & { flows: string[]; font: string };

/** The number of colours for flows; more flows repeat them. */
export const FLOW_COLOURS = 6;

/** Reads the colours of the present theme. */
export function palette(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim() || "#888888";
  const named = Object.fromEntries(NAMES.map((name) => [name, colour(name)])) as Record<(typeof NAMES)[number], string>;
  const flows = Array.from({ length: FLOW_COLOURS }, (_, flow) => colour(`flow-${flow}`));
  return { ...named, flows, font: style.fontFamily || "sans-serif" };
}

/** Calls `changed` when the theme changes, until the returned function is called. */
export function onTheme(changed: () => void): () => void {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  preferred.addEventListener("change", changed);
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class", "style"] });
  return () => {
    preferred.removeEventListener("change", changed);
    observer.disconnect();
  };
}
