/** Notices on the opened link: what is wrong with it, and controls that it brought. */

import { fault, reading, use } from "../own/drafts";
import { offered } from "./content";
import { laboratory, trouble } from "./link";

/** Whether the page is embedded in another one: `?embed=1` hides the controls. */
export const embedded = typeof location !== "undefined" && new URLSearchParams(location.search).get("embed") === "1";

/**
 * Whether the page is in a frame. The page around a frame can lay anything over it and so steer a click, so what needs
 * the user's trust is left to the page outside of frames.
 */
const framed = typeof window !== "undefined" && window.top !== window.self;

/** A link to the whole laboratory with what an embedded page shows. */
export function OpenWhole() {
  return (
    <a
      href={laboratory().href}
      target="_blank"
      rel="noopener"
      onClick={(event) => {
        event.currentTarget.href = laboratory().href + location.hash;
      }}
    >
      Open in the laboratory
    </a>
  );
}

/** Trouble with the link, and the question about its controls. */
export function Notices() {
  return (
    <>
      {trouble.value && (
        <div class="notice" role="alert">
          <p>{trouble.value}</p>
          <button
            type="button"
            onClick={() => {
              trouble.value = null;
            }}
          >
            Close
          </button>
        </div>
      )}
      {offered.value.length > 0 && (
        <div class="notice" role="alert">
          <p>
            {"The link brings a congestion control as JavaScript: "}
            <strong>{offered.value.map(({ name }) => name).join(", ")}</strong>
            {". It has not been run. "}
            {framed ? "It can be read here, and run outside of a frame: " : "Read it, and run it only if you trust it."}
            {framed && <OpenWhole />}
          </p>
          {offered.value.map(({ name, source }) => (
            <details key={name}>
              <summary>{`Text of ${name}`}</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by the keyboard */}
              <pre tabIndex={0}>{source}</pre>
            </details>
          ))}
          {fault.value && <p>{fault.value.message}</p>}
          {!framed && (
            <button type="button" disabled={reading.value} onClick={() => void use()}>
              Run this code
            </button>
          )}
          <button
            type="button"
            onClick={() => {
              offered.value = [];
            }}
          >
            Leave it out
          </button>
        </div>
      )}
    </>
  );
}
