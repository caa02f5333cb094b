/** The main page: the laboratory with a bundled scenario. */

import { render } from "preact";
import { presets } from "./model/presets";
import { App } from "./ui/app";
import { start } from "./ui/start";

const root = document.getElementById("app");
if (root) void start(root, presets[0]?.toml ?? "", () => render(<App />, root));
