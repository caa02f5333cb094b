/** Switches of the flows that all plots show; with many flows, of groups, and a picker by name. */

import { useState } from "preact/hooks";
import { hidden } from "../model/state";
import { flowColours, groupNames, many } from "./figures";
import { groupKey } from "./groups";
import { picked, sides, toggle } from "./shown";

/** A switch. */
interface Key {
  key: string;
  name: string;
  colour: string;
}

function flowKeys(): Key[] {
  return [...flowColours(sides.value, null)].map(([name, colour]) => ({ key: name, name, colour }));
}

function groupKeys(): Key[] {
  return groupNames(sides.value).map((name, index) => ({
    key: groupKey(name),
    name,
    colour: `--flow-${index % 6}`,
  }));
}

function Keys({ keys, onRemove }: { keys: Key[]; onRemove?: (key: string) => void }) {
  const only = (key: string): void => {
    const alone = keys.every((one) => one.key === key || hidden.peek().has(one.key));
    toggle(
      keys.map((one) => one.key),
      alone,
    );
    toggle([key], true);
  };
  return (
    <>
      {keys.map(({ key, name, colour }) => (
        <span class="key" key={key}>
          <button
            type="button"
            aria-pressed={!hidden.value.has(key)}
            title="Click: show or hide. Double click: only this."
            onClick={() => toggle([key], hidden.peek().has(key))}
            onDblClick={() => only(key)}
          >
            <span class="swatch" style={{ color: `var(${colour})` }} />
            {name}
          </button>
          {onRemove && (
            <button type="button" aria-label={`Remove ${name}`} onClick={() => onRemove(key)}>
              ×
            </button>
          )}
        </span>
      ))}
    </>
  );
}

function Picker({ names }: { names: string[] }) {
  const [text, type] = useState("");
  const add = (name: string): void => {
    if (!names.includes(name)) return;
    picked.value = new Set([...picked.peek(), name]);
    type("");
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add(text);
      }}
    >
      <label>
        Also draw the flow{" "}
        <input
          list="views-flows"
          value={text}
          placeholder={`one of ${names.length}`}
          onInput={(event) => {
            const { value } = event.currentTarget;
            type(value);
            add(value);
          }}
        />
      </label>
      <datalist id="views-flows">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  );
}

/** The legend of all plots of flows. */
export function Legend() {
  const flows = flowKeys();
  if (!flows.length) return null;
  const arms = sides.value.length > 1;
  const grouped = many(sides.value);
  const colours = flowColours(sides.value, picked.value);
  const chosen = flows
    .filter(({ key }) => picked.value.has(key))
    .map((one) => ({ ...one, colour: colours.get(one.key) ?? one.colour }));
  const remove = (key: string): void => {
    picked.value = new Set([...picked.peek()].filter((one) => one !== key));
  };
  return (
    <div class="legend">
      <fieldset>
        <legend>{grouped ? "Flows by congestion control" : "Flows"}</legend>
        {grouped ? (
          <>
            <Keys keys={groupKeys()} />
            <Keys keys={chosen} onRemove={remove} />
            <Picker names={flows.map(({ name }) => name).filter((name) => !picked.value.has(name))} />
          </>
        ) : (
          <Keys keys={flows} />
        )}
        {arms && (
          <span class="arms">
            <span class="swatch" /> A <span class="swatch dashed" /> B
          </span>
        )}
      </fieldset>
    </div>
  );
}
