/** Controls of the whole run: duration and seed. */

import { set } from "./edits";
import { Quantity, Word } from "./fields";
import { scale, TIME, write } from "./quantity";
import { change, textAt, type View } from "./view";

const DURATIONS = scale(1, 600);

/** Duration and seed. */
export function RunPanel({ view }: { view: View }) {
  const { parsed, tree } = view;
  const checkSeed = (text: string): string | null =>
    /^\d{1,18}$/.test(text) ? null : "Allowed: a whole number of up to 18 digits.";
  return (
    <section aria-label="Run">
      <h3>Run</h3>
      <div class="pair">
        <Quantity
          label="Duration"
          value={textAt(tree, ["duration"]) ?? write(parsed.duration, TIME)}
          kinds={[TIME]}
          scale={DURATIONS}
          onChange={(text) => change((engine, toml) => set(engine, toml, ["duration"], text))}
        />
        <div class="beside">
          <Word
            label="Seed"
            doc="Seed of all random numbers: the same seed gives the same run."
            value={String(parsed.seed)}
            check={checkSeed}
            onChange={(text) => change((engine, toml) => engine.set(toml, "seed", text))}
          />
          <button
            type="button"
            class="small"
            title="The next seed: another run of the same scenario."
            onClick={() => change((engine, toml) => engine.set(toml, "seed", String(BigInt(parsed.seed) + 1n)))}
          >
            Next seed
          </button>
        </div>
      </div>
    </section>
  );
}
