/** The main page: the laboratory with the scenario of the link, what `narrows ui` opened, or the first bundled one. */

import { render } from "preact";
import { presets } from "./model/presets";
import { first } from "./remote/session";
import "./share/settings";
import { follow, open } from "./share/link";
import { App } from "./ui/app";
import { start } from "./ui/start";

const root = document.getElementById("app");
if (root) {
  void open().then(() =>
    start(
      root,
      () => first(presets[0]?.toml ?? ""),
      () => {
        render(<App />, root);
        follow();
      },
    ),
  );
}
