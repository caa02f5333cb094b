/** The main page, with its state within reach of a script that measures it or sets what is tried. */

import { presets } from "../../src/model/presets";
import * as state from "../../src/model/state";
import * as player from "../../src/net/player";
import "../../src/main";

const reached = { state, presets, player };

declare global {
  interface Window {
    narrows: typeof reached;
  }
}

window.narrows = reached;
