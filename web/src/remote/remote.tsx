/** What `narrows ui` adds to the page: results of this machine to open, and saving. Absent without a server. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { texts } from "../model/state";
import { type Entry, open, results, type Session, session, shown, tell, told } from "./session";
import "./remote.css";

const KINDS: Record<Entry["kind"], string> = {
  run: "runs",
  comparison: "simulated and live",
  sweep: "sweep",
  contest: "contest",
  page: "page",
};

const PLACES = {
  server: "The last run was the native engine's.",
  browser: "The last run was the browser's: its packets are logged, or it has a control of the page's.",
  recorded: "The results were read from a directory.",
};

/** Results below the server's folder, and what was opened. */
export function Remote(): JSX.Element | null {
  const server = session.value;
  return server && <Machine server={server} />;
}

function Machine({ server }: { server: Session }): JSX.Element {
  const place = server.backend.place.value;
  const step = server.backend.step.value;
  return (
    <section class="remote" aria-label="This machine">
      <details>
        <summary>
          This machine{" "}
          <span class="muted">
            ({server.folder}; narrows {server.version})
          </span>
        </summary>
        <Results />
        <Saving server={server} />
        {place && <p class="muted">{PLACES[place]}</p>}
      </details>
      {step > 1 && (
        <p class="muted">The run has more samples than a page can hold. Every {ordinal(step)} sample is shown.</p>
      )}
      <p role="status" class={told.value?.failed ? "failed" : "muted"}>
        {told.value?.text}
      </p>
    </section>
  );
}

function ordinal(step: number): string {
  return step === 2 ? "second" : step === 3 ? "third" : `${step}th`;
}

function Results(): JSX.Element {
  const entries = useSignal<Entry[] | null>(null);
  const complete = useSignal(true);
  const name = useSignal("");
  const run = useSignal(1);
  const look = async (): Promise<void> => {
    try {
      const found = await results();
      entries.value = found.results;
      complete.value = found.complete;
      if (!found.results.some((one) => one.name === name.peek())) name.value = found.results[0]?.name ?? "";
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), true);
    }
  };
  useEffect(() => void look(), []);
  const chosen = entries.value?.find((one) => one.name === name.value);
  const inArm = chosen?.kind === "run";
  return (
    <form class="row" onSubmit={(event) => event.preventDefault()}>
      <label>
        Results{" "}
        <select
          value={name.value}
          onChange={(event) => {
            name.value = event.currentTarget.value;
            run.value = 1;
          }}
          disabled={!entries.value?.length}
        >
          {entries.value?.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name} ({KINDS[one.kind]})
            </option>
          ))}
          {entries.value?.length === 0 && <option value="">none below this folder</option>}
        </select>
      </label>
      <button type="button" onClick={() => void look()}>
        Refresh list
      </button>
      {inArm && (
        <label>
          Run{" "}
          <input
            type="number"
            min={1}
            value={run.value}
            onChange={(event) => {
              run.value = Math.max(1, Math.round(event.currentTarget.valueAsNumber || 1));
            }}
          />
        </label>
      )}
      {inArm &&
        (["a", "b"] as const).map((arm) => (
          <button key={arm} type="button" onClick={() => void open(chosen, arm, run.value - 1)}>
            Open in {arm.toUpperCase()}
          </button>
        ))}
      {chosen?.kind === "comparison" && (
        <button type="button" onClick={() => void open(chosen, "a", run.value - 1)}>
          Open in A and B
        </button>
      )}
      {chosen?.page && (
        <button
          type="button"
          onClick={() => {
            shown.value = chosen;
          }}
        >
          Show page
        </button>
      )}
      {chosen && !chosen.page && !inArm && chosen.kind !== "comparison" && (
        <p class="muted">
          It has no page; <code>narrows report {chosen.name}</code> writes it.
        </p>
      )}
      {!complete.value && <p class="muted">The folder holds more; start `narrows ui` in a folder below it.</p>}
    </form>
  );
}

function Saving({ server }: { server: Session }): JSX.Element {
  const directory = useSignal("");
  const save = async (arm: "a" | "b"): Promise<void> => {
    try {
      const where = await server.backend.save(texts[arm].peek() ?? "", directory.peek());
      tell(`saved: ${where}; for a page: narrows report ${where}`, false);
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), true);
    }
  };
  return (
    <form class="row" onSubmit={(event) => event.preventDefault()}>
      <label>
        Directory{" "}
        <input
          type="text"
          spellcheck={false}
          placeholder="results/mine"
          value={directory.value}
          onInput={(event) => {
            directory.value = event.currentTarget.value;
          }}
        />
      </label>
      {(["a", "b"] as const).map(
        (arm) =>
          texts[arm].value !== null && (
            <button key={arm} type="button" disabled={!directory.value.trim()} onClick={() => void save(arm)}>
              Save result{texts.b.value === null ? "" : ` of ${arm.toUpperCase()}`}
            </button>
          ),
      )}
    </form>
  );
}

/** A page of results in front of the laboratory. Its frame has no rights here: scripts of a page are foreign. */
export function ResultPage(): JSX.Element | null {
  const entry = shown.value;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (entry && !dialog.current?.open) dialog.current?.showModal();
  }, [entry]);
  if (!entry) return null;
  const address = `${session.peek()?.root}result/${entry.number}/report.html`;
  return (
    <dialog
      ref={dialog}
      class="result-page"
      aria-label={entry.name}
      onClose={() => {
        shown.value = null;
      }}
    >
      <p>
        <button type="button" onClick={() => dialog.current?.close()}>
          Back to the laboratory
        </button>{" "}
        <strong>{entry.name}</strong>{" "}
        <a href={address} target="_blank" rel="noreferrer">
          in a tab of its own
        </a>
      </p>
      <iframe title={entry.name} src={address} sandbox="allow-scripts allow-popups allow-downloads" />
    </dialog>
  );
}
