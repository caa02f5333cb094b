/** Presets, settings, flows, the scenario's text, and sharing. */

import { offered } from "../share/content";
import { SharePanel } from "../share/share-panel";
import { TextPanel } from "./editor";
import { FlowsPanel } from "./flows-panel";
import { LinkPanel } from "./link-panel";
import { RunPanel } from "./run-panel";
import { ScenarioHead } from "./scenario-head";
import { arm, refusal, shown } from "./view";
import "./controls.css";

export function Controls() {
  const { view, reason } = shown.value;
  return (
    <section aria-label="Controls" class="controls">
      <ScenarioHead />
      <div class="settings" key={arm.value}>
        {reason && (
          <p class="notes wrong" role="status">
            {offered.value.length > 0
              ? "The text waits for code of the link, which has not been run: see above."
              : reason}
          </p>
        )}
        {refusal.value && (
          <p class="notes wrong" role="alert">
            {refusal.value}
          </p>
        )}
        {view && (
          <>
            <LinkPanel view={view} />
            <FlowsPanel view={view} />
            <RunPanel view={view} />
          </>
        )}
      </div>
      <TextPanel />
      <SharePanel />
    </section>
  );
}
