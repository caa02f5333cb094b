/** Sharing: a link, the text as a file, and a snippet that embeds the page. */

import { batch, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { keep } from "../controls/load";
import { edited, scenarios, texts } from "../model/state";
import { save } from "../views/save";
import { LinkFailure } from "./codec";
import { link, trouble } from "./link";
import "./share.css";

/** What was done last, for the user. */
const told = signal("");
/** A text that could not be copied, to be copied by hand. */
const byHand = signal<string | null>(null);

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** The snippet that embeds a link of the laboratory into another page. */
export function snippet(url: URL, title: string): string {
  const embedded = new URL(url);
  embedded.searchParams.set("embed", "1");
  return `<iframe src="${escaped(embedded.href)}" title="${escaped(title)}" width="100%" height="640" loading="lazy"></iframe>`;
}

/** The title of scenario A. */
function title(): string {
  const result = scenarios.a.peek();
  return result?.ok ? result.scenario.resolved.title : "Narrows laboratory";
}

/** Whether the page is served by this machine to itself. */
function local(): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
}

async function copy(make: () => Promise<string>, done: string): Promise<void> {
  try {
    const text = await make();
    trouble.value = null;
    try {
      await navigator.clipboard.writeText(text);
      byHand.value = null;
      told.value = local() ? `${done} It opens on this machine alone, while the page is served here.` : done;
    } catch {
      byHand.value = text;
      told.value = "The browser does not let the page copy: copy the text below.";
    }
  } catch (error) {
    if (!(error instanceof LinkFailure)) throw error;
    trouble.value = error.message;
  }
}

function download(arm: "a" | "b"): void {
  const result = scenarios[arm].peek();
  const name = result?.ok && result.scenario.name !== "scenario" ? result.scenario.name : "scenario";
  const text = new Blob([texts[arm].peek() ?? ""], { type: "application/toml" });
  save(`${name}${arm === "b" ? "-b" : ""}.toml`, text);
}

/** Reads a text of the user's into scenario A. */
async function upload(file: File | undefined): Promise<void> {
  if (!file) return;
  if (file.size > 1_000_000) {
    trouble.value = `${file.name} has more than 1 MB; allowed: a scenario's TOML of up to 1 MB.`;
    return;
  }
  const text = await file.text();
  batch(() => {
    keep();
    texts.a.value = text;
    edited.value = "a";
  });
  told.value = `${file.name} is shown as scenario A.`;
}

/** Buttons that share what the page shows. */
export function SharePanel() {
  const input = useRef<HTMLInputElement>(null);
  const comparing = texts.b.value !== null;
  return (
    <section aria-label="Share" class="share">
      <h3>Share</h3>
      <div class="bar">
        <button
          type="button"
          onClick={() => void copy(async () => (await link()).href, "The link is copied. It holds the whole scenario.")}
        >
          Copy link
        </button>
        <button
          type="button"
          title="HTML for a page or slides: plots and animation without the controls."
          onClick={() => void copy(async () => snippet(await link(), title()), "The snippet is copied.")}
        >
          Copy embed snippet
        </button>
        <button type="button" onClick={() => download("a")}>
          {comparing ? "Download TOML of A" : "Download TOML"}
        </button>
        {comparing && (
          <button type="button" onClick={() => download("b")}>
            Download TOML of B
          </button>
        )}
        <button type="button" onClick={() => input.current?.click()}>
          Open TOML
        </button>
        <input
          ref={input}
          type="file"
          accept=".toml"
          hidden
          aria-label="Scenario file"
          onChange={(event) => {
            void upload(event.currentTarget.files?.[0]);
            event.currentTarget.value = "";
          }}
        />
      </div>
      <p class="notes" role="status">
        {told.value}
      </p>
      {byHand.value !== null && (
        <textarea
          aria-label="Text to copy"
          readOnly
          rows={4}
          value={byHand.value}
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
    </section>
  );
}
