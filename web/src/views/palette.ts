/** Colours of the page's style sheet for canvases and files. */

import { signal } from "@preact/signals";

let style: CSSStyleDeclaration | null = null;
const found = new Map<string, string>();

/** Changes when the theme changes. */
export const theme = signal(0);

/** The value of a CSS variable of the page. */
export function colour(name: string): string {
  const known = found.get(name);
  if (known !== undefined) return known;
  style ??= getComputedStyle(document.documentElement);
  const value = style.getPropertyValue(name).trim() || "#888888";
  found.set(name, value);
  return value;
}

/** Follows changes of the theme: of the system, and of the page's attribute `data-theme`. */
export function followTheme(): () => void {
  const changed = (): void => {
    found.clear();
    theme.value += 1;
  };
  const query = matchMedia("(prefers-color-scheme: dark)");
  query.addEventListener("change", changed);
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  changed();
  return () => {
    query.removeEventListener("change", changed);
    observer.disconnect();
  };
}
