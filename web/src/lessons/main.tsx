/** A lesson's page: the laboratory with the lesson's scenario, beside the text that is in the page already. */

import { render } from "preact";
import { Laboratory } from "../ui/app";
import { start } from "../ui/start";
import type { Watched } from "./lesson";
import { printing } from "./printing";
import { WatchedNumbers } from "./watched";

function content(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

const root = document.getElementById("app");
const watched = document.getElementById("watched");
const watch: Watched[] = JSON.parse(content("watch"));
printing();
if (root) {
  void start(root, content("scenario"), () => {
    root.replaceChildren();
    render(<Laboratory />, root);
    if (watched) render(<WatchedNumbers watch={watch} />, watched);
  });
}
