/** Keeps the user's texts in this browser, so that closing the page loses none. They are sent nowhere. */

/** A text with its name. */
export interface Draft {
  name: string;
  source: string;
}

const KEY = "narrows.own";

const isDraft = (value: unknown): value is Draft =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as Draft).name === "string" &&
  typeof (value as Draft).source === "string";

/** The kept texts; null if there are none, or the browser keeps nothing. */
export function kept(): Draft[] | null {
  try {
    const value: unknown = JSON.parse(globalThis.localStorage?.getItem(KEY) ?? "null");
    const texts = Array.isArray(value) ? value.filter(isDraft).map(({ name, source }) => ({ name, source })) : [];
    return texts.length > 0 ? texts : null;
  } catch {
    // Storage is refused, as in a private window or a frame, or holds something else.
    return null;
  }
}

/** Keeps the texts. */
export function keep(texts: Draft[]): void {
  try {
    globalThis.localStorage?.setItem(KEY, JSON.stringify(texts));
  } catch {
    // Storage is refused or full: the texts live as long as the page.
  }
}
