/** The user's own congestion control: its text, running it, and stepping through its calls. */

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { control } from "../controls/catalogue";
import { set, setControl } from "../controls/edits";
import { change, shown as view } from "../controls/view";
import { edited, failures, own } from "../model/state";
import { offered } from "../share/content";
import { CallsView } from "./calls-view";
import { add, draft, drafts, edit, fault, foreign, isRun, reading, remove, shown, use } from "./drafts";
import type { Editor } from "./editor";
import { examples } from "./examples";
import { lineIn } from "./probe";
import "./own.css";

/** What is wrong: with the shown text, or with the last run because of it. */
function useComplaint() {
  return useComputed(() => {
    const { name } = draft.value;
    if (fault.value) return fault.value;
    const message = failures[edited.value].value;
    return message?.startsWith(`${name}: `) ? { name, message, line: lineIn(message, name) } : null;
  });
}

/** The text, in CodeMirror, which is loaded when it is first needed. */
function Text({ run }: { run: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useSignal<Editor | null>(null);
  const complaint = useComplaint();
  useEffect(() => {
    let gone = false;
    void import("./editor").then((module) => {
      if (gone || !box.current) return;
      editor.value = module.edit(box.current, draft.peek().source, { changed: (source) => edit({ source }), run });
    });
    return () => {
      gone = true;
      editor.peek()?.destroy();
    };
  }, []);
  useSignalEffect(() => editor.value?.show(draft.value.source));
  useSignalEffect(() => {
    const found = complaint.value;
    editor.value?.mark(found && found.name === draft.peek().name ? found.line : null);
  });
  return <div ref={box} class="text" />;
}

/** The entries of the text's flows that can use the control. */
function useFlows() {
  return useComputed(() => view.value.view?.flows.filter(({ tcp }) => tcp !== null) ?? []);
}

/** All flows without a control of their own; no flow has this name. */
const ALL = "all flows";

/** Sets the congestion control of a flow's entry in the text, or of all flows. */
function assign(flow: string, name: string): void {
  const row = view.peek().view?.flows.find((one) => one.name === flow);
  if (flow === ALL) change((engine, text) => set(engine, text, ["tcp", "cc"], name));
  // A control that the flow has already keeps its parameters.
  else if (row && row.tcp?.cc !== name) change((engine, text) => setControl(engine, text, row, control(name)));
}

function Panel() {
  const ids = { name: useId(), which: useId(), flow: useId() };
  const flow = useSignal("");
  const flows = useFlows();
  const complaint = useComplaint();
  const run = async (): Promise<void> => {
    if (!(await use())) return;
    if (flow.peek() !== "") assign(flow.peek(), draft.peek().name);
  };
  const here = draft.value;
  const used = isRun(here);
  return (
    <div class="panel">
      {foreign.value && (
        <p class="foreign" role="alert">
          Texts came with the link: {offered.value.map((one) => one.name).join(", ")}. They have not been run. Read them
          first: they run when you press Run.
        </p>
      )}
      <div class="fields">
        <label for={ids.which}>Text</label>
        <select
          id={ids.which}
          value={shown.value}
          onChange={(event) => {
            shown.value = Number(event.currentTarget.value);
            fault.value = null;
          }}
        >
          {drafts.value.map((one, index) => (
            <option key={one.name} value={index}>
              {one.name}
            </option>
          ))}
        </select>
        <select
          aria-label="Add a text"
          value=""
          onChange={(event) => {
            const example = examples.find((one) => one.name === event.currentTarget.value);
            event.currentTarget.value = "";
            if (example) add(example);
          }}
        >
          <option value="">Add ...</option>
          {examples.map((one) => (
            <option key={one.name} value={one.name}>
              {one.label}
            </option>
          ))}
        </select>
        <button type="button" onClick={remove} disabled={drafts.value.length === 1}>
          Remove
        </button>
      </div>
      <div class="fields">
        <label for={ids.name}>Name</label>
        <input
          id={ids.name}
          value={here.name}
          spellcheck={false}
          onChange={(event) => edit({ name: event.currentTarget.value.trim() })}
        />
        <span class="notes">
          in scenarios: <code>cc = "{here.name}"</code>
        </span>
      </div>
      <Text run={() => void run()} />
      <div class="fields">
        <label for={ids.flow}>Use it in</label>
        <select
          id={ids.flow}
          value={flow.value}
          onChange={(event) => {
            flow.value = event.currentTarget.value;
          }}
        >
          <option value="">the flows that name it</option>
          <option value={ALL}>all flows without a control of their own</option>
          {flows.value.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <button type="button" class="run" onClick={() => void run()} disabled={reading.value}>
          Run (Ctrl+Enter)
        </button>
        <span role="status">{reading.value ? "Reading ..." : used ? "Runs use this text." : "Not run yet."}</span>
      </div>
      {complaint.value && (
        <p class="fault" role="alert">
          {complaint.value.line !== null && `Line ${complaint.value.line}: `}
          {complaint.value.message}
        </p>
      )}
      {own.value.length > 0 && <CallsView />}
    </div>
  );
}

/** The editor of the user's congestion control, and stepping through its calls. */
export function OwnControl() {
  const open = useSignal(false);
  useSignalEffect(() => {
    if (foreign.value) open.value = true;
  });
  return (
    <section aria-label="Your own congestion control" class="own">
      <details
        open={open.value}
        onToggle={(event) => {
          open.value = event.currentTarget.open;
        }}
      >
        <summary>Your own congestion control</summary>
        {open.value && <Panel />}
      </details>
    </section>
  );
}
