/** Settings of the views and of the animation that links hold. */

import { playhead } from "../model/state";
import { open } from "../net/network";
import { playing } from "../net/player";
import { logging, sequenceOf, unit } from "../views/shown";
import { remember, rememberSwitch } from "./content";

rememberSwitch("network", open);
rememberSwitch("logging", logging);
remember("unit", {
  get: () => (unit.value === "packets" ? undefined : unit.value),
  put: (given) => {
    unit.value = given === "bytes" ? "bytes" : "packets";
  },
});
remember("sequence", {
  get: () => sequenceOf.value ?? undefined,
  put: (given) => {
    if (typeof given === "string") sequenceOf.value = given;
  },
});
remember("playhead", {
  // The address is not rewritten with each frame.
  get: () => (playing.value || playhead.value === 0 ? undefined : playhead.value),
  put: (given) => {
    if (typeof given === "number" && given >= 0 && given <= Number.MAX_SAFE_INTEGER) playhead.value = given;
  },
});
