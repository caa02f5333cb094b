/** The worker that imports a text once and says what its class is. The page ends it. */

import { described, imported } from "../engine/own";
import type { OwnRow } from "../engine/types";

/** What the worker answers. `syntax`: the text cannot be parsed, and the message may lack the line. */
export type FromProbe = { ok: true; row: OwnRow } | { ok: false; message: string; syntax: boolean };

self.onmessage = async ({ data }: MessageEvent<{ name: string; source: string }>): Promise<void> => {
  const send = (message: FromProbe): void => self.postMessage(message);
  try {
    send({ ok: true, row: described(data.name, await imported(data.name, data.source, new Map())) });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const message = error instanceof Error ? error.message : String(error);
    send({ ok: false, message, syntax: cause instanceof SyntaxError });
  }
};
