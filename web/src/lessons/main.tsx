/** A lesson's page: the laboratory with the lesson's scenario, beside the text that is in the page already. */

import { effect } from "@preact/signals";
import { render } from "preact";
import { present, written } from "../share/content";
import "../share/settings";
import { link } from "../share/link";
import { Notices } from "../share/notices";
import { Laboratory } from "../ui/app";
import { start } from "../ui/start";
import type { Watched } from "./lesson";
import { printing } from "./printing";
import { WatchedNumbers } from "./watched";

function content(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

/** Time without a change before the link is made, ms. */
const QUIET_MS = 300;

/** Keeps the link to the laboratory at what the lesson's page shows. */
function follow(anchor: HTMLAnchorElement): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = "";
  const { href } = anchor;
  effect(() => {
    const text = written(present());
    latest = text;
    clearTimeout(timer);
    anchor.href = href;
    timer = setTimeout(async () => {
      // The page that shares links reports a text that is too long for one.
      const made = await link().catch(() => null);
      if (made && text === latest) anchor.href = made.href;
    }, QUIET_MS);
  });
}

const root = document.getElementById("app");
const watched = document.getElementById("watched");
const watch: Watched[] = JSON.parse(content("watch"));
printing();
if (root) {
  void start(root, content("scenario"), () => {
    root.replaceChildren();
    render(
      <>
        <Notices />
        <Laboratory />
      </>,
      root,
    );
    const anchor = document.getElementById("open");
    if (anchor instanceof HTMLAnchorElement) follow(anchor);
    if (watched) render(<WatchedNumbers watch={watch} toml={content("scenario")} />, watched);
  });
}
