/** Settings of the views that links hold. */

import { logging, sequenceOf, unit } from "../views/shown";
import { remember, rememberSwitch } from "./content";

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
    if (given === undefined) sequenceOf.value = null;
    else if (typeof given === "string") sequenceOf.value = given;
  },
});
