/** The state of runs: progress with a stop button, questions before long runs, and failures. */

import { useEffect, useState } from "preact/hooks";
import { allow, ask, decline, LARGE_BYTES, stop } from "../model/runner";
import {
  type Arm,
  type Estimate,
  failures,
  gates,
  progress,
  running,
  runs,
  scenarios,
  stopped,
  texts,
} from "../model/state";
import { session } from "../remote/session";

/** Time after which a run's progress is shown, ms. Short runs show their result alone, so that nothing flickers. */
const SHOWN_MS = 200;

/** The share of a run that has taken a while; null otherwise. */
function useProgress(): number | null {
  const [slow, setSlow] = useState(false);
  const arm = running.value;
  useEffect(() => {
    setSlow(false);
    if (arm === null) return;
    const timer = setTimeout(() => setSlow(true), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [arm]);
  return slow && arm !== null ? (progress.value ?? 0) : null;
}

/** A time in words that is as exact as an estimate. */
export function about(seconds: number): string {
  if (seconds < 90) return `about ${Math.max(1, Math.round(seconds / 5) * 5)} s`;
  const minutes = seconds / 60;
  if (minutes < 90) return `about ${Math.round(minutes)} minutes`;
  const hours = minutes / 60;
  return hours < 48 ? `about ${Math.round(hours)} hours` : `about ${Math.round(hours / 24)} days`;
}

function Question({ arm, needs, name, kept }: { arm: Arm; needs: Estimate; name: string; kept: string }) {
  const place = session.value ? "on this machine" : "in this browser";
  const large = needs.bytes > LARGE_BYTES;
  return (
    <div class="question" role="alert">
      <p>
        {`${name} takes ${about(needs.seconds)} ${place}. `}
        {large &&
          `Its samples take about ${(needs.bytes / 1e9).toPrecision(2)} GB of memory: with a longer sampling interval they take less. `}
        {!session.value && (
          <>
            {"The command line is faster: download the text, then "}
            <code>narrows run scenario.toml</code>.
          </>
        )}
        {kept}
      </p>
      <button type="button" onClick={() => allow(arm)}>
        Run
      </button>
      <button type="button" onClick={() => decline(arm)}>
        Cancel
      </button>
    </div>
  );
}

/** What the last run of an arm did, in numbers. */
function done(arm: Arm): string | null {
  const data = runs[arm].value;
  if (!data) return null;
  const time = data.took_ms < 1000 ? `${Math.round(data.took_ms)} ms` : `${(data.took_ms / 1000).toFixed(1)} s`;
  const packets = `${data.packets.toLocaleString("en")} packets`;
  const old = scenarios[arm].value?.ok === false ? " (last text without problems)" : "";
  return `${packets}${data.took_ms ? ` in ${time}` : ", recorded"}${old}`;
}

/** One line on the runs of both arms, and what the user must decide. */
export function RunBar() {
  const arms: Arm[] = texts.b.value === null ? ["a"] : ["a", "b"];
  const share = useProgress();
  const name = (arm: Arm): string => (arms.length === 1 ? "This run" : `Scenario ${arm.toUpperCase()}`);
  const numbers = arms.map((arm) =>
    arms.length === 1 ? done(arm) : done(arm) && `${arm.toUpperCase()}: ${done(arm)}`,
  );
  return (
    <section aria-label="State of the run" class="run-bar">
      <div class="line">
        <button type="button" aria-disabled={running.value === null} onClick={stop}>
          Stop
        </button>
        {share !== null && <progress max={1} value={share} aria-label="Progress of the run" />}
        <span class="numbers">
          {share === null ? numbers.filter(Boolean).join(". ") : `${Math.floor(100 * share)} %`}
        </span>
      </div>
      {arms.map((arm) => {
        const needs = gates[arm].value;
        const kept = runs[arm].value ? " The plots show the last complete run." : "";
        if (needs) return <Question key={arm} arm={arm} needs={needs} name={name(arm)} kept={kept} />;
        const failure = failures[arm].value;
        if (!failure && !stopped[arm].value) return null;
        return (
          <div key={`${arm}-end`} class={failure ? "failure" : "question"} role="alert">
            <p>{failure ? `${name(arm)} failed: ${failure}.${kept}` : `${name(arm)} was stopped.${kept}`}</p>
            <button type="button" onClick={() => ask(arm)}>
              Run again
            </button>
          </div>
        );
      })}
    </section>
  );
}
