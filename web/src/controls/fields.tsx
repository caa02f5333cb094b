/** Fields of the controls: a quantity with a slider, a choice, and a switch. */

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { type Kind, nearest, parse, unitOf, write } from "./quantity";

interface Common {
  label: string;
  /** Why it cannot be changed; it is then disabled. */
  reason?: string | null | undefined;
  /** What it means, in a sentence. */
  doc?: string | undefined;
  /** Shown below the field. */
  hint?: ComponentChildren;
}

interface QuantityProps extends Common {
  /** The quantity as written: `10 Mb/s`. */
  value: string;
  /** Kinds that may be typed; the first one that has the unit is meant. */
  kinds: Kind[];
  /** Values of the slider, rising, in the base unit; no slider without. */
  scale?: number[] | undefined;
  onChange: (written: string) => void;
}

/** What a field may hold, in words. */
const allowed = (kinds: Kind[]): string =>
  `a number and ${kinds.flatMap(({ units }) => units.map(([name]) => name)).join(", ")}`;

/** A quantity as text with its unit, and a logarithmic slider below it. */
export function Quantity({ label, value, kinds, scale, onChange, reason, doc, hint }: QuantityProps) {
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const [wrong, setWrong] = useState(false);
  const kind = kinds.find((one) => parse(value, one) !== null) ?? kinds[0];
  const base = kind ? parse(value, kind) : null;
  const disabled = Boolean(reason);
  const commit = (text: string): void => {
    const found = kinds.find((one) => parse(text, one, value) !== null);
    setWrong(!found);
    if (!found) return;
    setDraft(null);
    const [, number = "", unit] = /^\s*([\d.,]+)\s*(\S*)/.exec(text) ?? [];
    const written = `${number.replace(",", ".")} ${unit || unitOf(value)}`;
    if (written !== value) onChange(written);
  };
  const notes = reason || hint || wrong;
  return (
    <div class="field" title={doc}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        spellcheck={false}
        autocomplete="off"
        value={draft ?? value}
        disabled={disabled}
        aria-invalid={wrong}
        aria-describedby={notes ? `${id}-notes` : undefined}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={(event) => commit(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          setDraft(null);
          setWrong(false);
        }}
      />
      {scale && kind && scale.length > 1 && (
        <input
          class="slider"
          type="range"
          min={0}
          max={scale.length - 1}
          step={1}
          value={nearest(base ?? 0, scale)}
          disabled={disabled}
          aria-label={label}
          aria-valuetext={value}
          onInput={(event) => {
            setDraft(null);
            setWrong(false);
            const next = scale[Number(event.currentTarget.value)];
            if (next !== undefined) onChange(write(next, kind));
          }}
        />
      )}
      {notes && (
        <p id={`${id}-notes`} class={wrong ? "notes wrong" : "notes"}>
          {wrong ? `Allowed: ${allowed(kinds)}.` : reason || hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps extends Common {
  value: string;
  /** Values with their labels, in groups; a group without a name stands alone. */
  groups: { name: string | null; options: [string, string][] }[];
  onChange: (value: string) => void;
  /** Whether the label is for screen readers alone. */
  quiet?: boolean;
}

/** One of several words. */
export function Choice({ label, value, groups, onChange, reason, doc, hint, quiet }: ChoiceProps) {
  const id = useId();
  const known = groups.some(({ options }) => options.some(([one]) => one === value));
  const options = (list: [string, string][]) =>
    list.map(([one, text]) => (
      <option key={one} value={one} selected={one === value}>
        {text}
      </option>
    ));
  return (
    <div class="field choice" title={doc}>
      <label for={id} class={quiet ? "visually-hidden" : undefined}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        disabled={Boolean(reason)}
        aria-describedby={reason || hint ? `${id}-notes` : undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {!known && <option value={value}>{value}</option>}
        {groups.map(({ name, options: list }) =>
          name ? (
            <optgroup key={name} label={name}>
              {options(list)}
            </optgroup>
          ) : (
            options(list)
          ),
        )}
      </select>
      {(reason || hint) && (
        <p id={`${id}-notes`} class="notes">
          {reason || hint}
        </p>
      )}
    </div>
  );
}

interface SwitchProps extends Common {
  value: boolean;
  onChange: (on: boolean) => void;
}

/** On or off. */
export function Switch({ label, value, onChange, reason, doc, hint }: SwitchProps) {
  const id = useId();
  return (
    <div class="field switch" title={doc}>
      <input
        id={id}
        type="checkbox"
        checked={value}
        disabled={Boolean(reason)}
        aria-describedby={reason || hint ? `${id}-notes` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {(reason || hint) && (
        <p id={`${id}-notes`} class="notes">
          {reason || hint}
        </p>
      )}
    </div>
  );
}

interface WordProps extends Common {
  value: string;
  /** Returns what is wrong with a text; null if it is right. */
  check: (text: string) => string | null;
  onChange: (text: string) => void;
  /** Whether the label is for screen readers alone. */
  quiet?: boolean;
}

/** A number or a name as text. It is checked when it is left. */
export function Word({ label, value, check, onChange, reason, doc, quiet }: WordProps) {
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const fault = draft === null ? null : check(draft.trim());
  const [told, setTold] = useState(false);
  return (
    <div class="field word" title={doc}>
      <label for={id} class={quiet ? "visually-hidden" : undefined}>
        {label}
      </label>
      <input
        id={id}
        type="text"
        spellcheck={false}
        autocomplete="off"
        value={draft ?? value}
        disabled={Boolean(reason)}
        aria-invalid={told && fault !== null}
        aria-describedby={reason || (told && fault) ? `${id}-notes` : undefined}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={(event) => {
          const text = event.currentTarget.value.trim();
          setTold(true);
          if (check(text) !== null) return;
          setDraft(null);
          setTold(false);
          if (text !== value) onChange(text);
        }}
      />
      {(reason || (told && fault)) && (
        <p id={`${id}-notes`} class={reason ? "notes" : "notes wrong"}>
          {reason || fault}
        </p>
      )}
    </div>
  );
}
