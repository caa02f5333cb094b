/** The scenario's title and description, the list of scenarios, and the two arms. */

import { useRef } from "preact/hooks";
import { type Preset, presets } from "../model/presets";
import { type Arm, edited, scenarios, texts } from "../model/state";
import { former, keep, load, restore } from "./load";
import { arm } from "./view";

const groups = [...new Set(presets.map(({ group }) => group))];

function Offer({ preset, onChosen }: { preset: Preset; onChosen: () => void }) {
  return (
    <li>
      <button
        type="button"
        onClick={() => {
          load(preset);
          onChosen();
        }}
      >
        <strong>{preset.title}</strong>
        {preset.description && <span>{preset.description}</span>}
        {preset.against && <small>Two scenarios, A and B</small>}
      </button>
    </li>
  );
}

/** The button that opens the list of scenarios, and the list. */
function Scenarios() {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => dialog.current?.showModal()}>
        Scenarios …
      </button>
      <dialog ref={dialog} class="scenarios" aria-label="Scenarios">
        <header>
          <h2>Scenarios</h2>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        {groups.map((group) => (
          <section key={group} aria-label={group}>
            <h3>{group}</h3>
            <ul>
              {presets
                .filter((preset) => preset.group === group)
                .map((preset) => (
                  <Offer key={preset.name} preset={preset} onChosen={() => dialog.current?.close()} />
                ))}
            </ul>
          </section>
        ))}
      </dialog>
    </>
  );
}

/** Chooses the arm that is edited, and begins and ends comparing. */
function Arms() {
  const comparing = texts.b.value !== null;
  const tab = (one: Arm) => (
    <button
      key={one}
      type="button"
      aria-pressed={arm.value === one}
      onClick={() => {
        edited.value = one;
      }}
    >
      Scenario {one.toUpperCase()}
    </button>
  );
  if (!comparing) {
    return (
      <button
        type="button"
        title="Copies this scenario to B. Change one of them and see both."
        onClick={() => {
          texts.b.value = texts.a.peek();
          edited.value = "b";
        }}
      >
        Compare
      </button>
    );
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a legend that this has no room for */}
      <span role="group" aria-label="Edited scenario" class="arms">
        {(["a", "b"] as const).map(tab)}
      </span>
      <button
        type="button"
        onClick={() => {
          keep();
          edited.value = "a";
          texts.b.value = null;
        }}
      >
        Stop comparing
      </button>
    </>
  );
}

/** Title, list of scenarios, and arms. */
export function ScenarioHead() {
  const result = scenarios[arm.value].value;
  const resolved = result?.ok ? result.scenario.resolved : null;
  return (
    <header class="scenario">
      <h2>{resolved?.title ?? "Scenario"}</h2>
      {resolved?.description && <p class="description">{resolved.description}</p>}
      <div class="bar">
        <Scenarios />
        <Arms />
        {former.value && (
          <button
            type="button"
            onClick={restore}
            title="Brings back the texts before a scenario was loaded, or B left out."
          >
            Back to the former scenario
          </button>
        )}
      </div>
    </header>
  );
}
