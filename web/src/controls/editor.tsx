/** The scenario's text: an editor with its problems and warnings, and the text with every default. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../engine/types";
import { engine, own, scenarios, texts } from "../model/state";
import type { Editor, Mark } from "./codemirror";
import { arm } from "./view";

const marked = (problems: Problem[], severity: Mark["severity"]): Mark[] =>
  problems.flatMap(({ line, message }) => (line === null ? [] : [{ line, message, severity }]));

/** Most problems that the list shows; the lines of all are marked. */
const MOST_PROBLEMS = 50;

function List({ problems, name, reveal }: { problems: Problem[]; name: string; reveal: (line: number) => void }) {
  return (
    <ul class={`problems ${name}`} aria-label={name}>
      {problems.slice(0, MOST_PROBLEMS).map(({ line, message }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: equal problems may repeat, and have no state
        <li key={index}>
          {line === null ? (
            message
          ) : (
            <button type="button" onClick={() => reveal(line)}>
              {`line ${line}: ${message}`}
            </button>
          )}
        </li>
      ))}
      {problems.length > MOST_PROBLEMS && <li>{`and ${problems.length - MOST_PROBLEMS} more`}</li>}
    </ul>
  );
}

/** The editor, or a plain text field until it is loaded. */
export function TextPanel() {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [loaded, setLoaded] = useState(false);
  const [all, setAll] = useState(false);
  const at = arm.value;
  const text = texts[at].value ?? "";
  const result = scenarios[at].value;
  const problems = result && !result.ok ? result.problems : [];
  const warnings = result?.ok ? result.scenario.warnings : [];
  const defaults = all ? (engine.value?.written(text, "scenario.toml", own.value) ?? null) : null;
  const view = defaults ?? text;

  useEffect(() => {
    let gone = false;
    import("./codemirror")
      .then(({ edit }) => {
        if (gone || !parent.current) return;
        editor.current = edit(parent.current, "Text of the scenario, TOML", (typed) => {
          texts[arm.peek()].value = typed;
        });
        setLoaded(true);
      })
      .catch(() => {
        // The plain text field stays; it can do all but marking lines.
      });
    return () => {
      gone = true;
      editor.current?.destroy();
      editor.current = null;
    };
  }, []);

  useEffect(() => {
    const shown = editor.current;
    if (!shown) return;
    shown.show(defaults === null ? at : `${at} with defaults`, view, defaults !== null);
    shown.mark(defaults === null ? [...marked(problems, "problem"), ...marked(warnings, "warning")] : []);
  }, [loaded, at, view, result]);

  const reveal = (line: number): void => {
    setAll(false);
    editor.current?.reveal(line);
  };
  return (
    <section aria-label="Text" class="text">
      <div class="bar">
        <h3>Text</h3>
        <label>
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
          with all defaults
        </label>
      </div>
      {all && (
        <p class="notes">{defaults === null ? "The text has problems: there are no defaults yet." : "Read only."}</p>
      )}
      <div ref={parent} class="editor">
        {!loaded && (
          <textarea
            aria-label="Text of the scenario, TOML"
            spellcheck={false}
            rows={20}
            value={view}
            readOnly={defaults !== null}
            onInput={(event) => {
              texts[at].value = event.currentTarget.value;
            }}
          />
        )}
      </div>
      <div aria-live="polite">
        {problems.length > 0 && <List name="problems" problems={problems} reveal={reveal} />}
        {warnings.length > 0 && <List name="warnings" problems={warnings} reveal={reveal} />}
      </div>
    </section>
  );
}
