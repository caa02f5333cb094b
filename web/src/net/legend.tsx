/** What the marks of the drawing mean, and what it does not show exactly. */

import type { ComponentChildren } from "preact";
import { FLOW_COLOURS } from "./palette";
import type { Scene } from "./scene";

/** Most flows that the legend names. */
const MOST_FLOWS = 12;

function Mark({ children }: { children: ComponentChildren }) {
  return (
    <svg width="18" height="14" viewBox="0 0 18 14" aria-hidden="true">
      {children}
    </svg>
  );
}

/** The legend of a scene. */
export function Legend({ scene }: { scene: Scene }) {
  const flows = scene.data.names.flows;
  const { log } = scene.index;
  const marks = log.ecn.includes(3);
  return (
    <div class="network-legend">
      <ul aria-label="Marks">
        {flows.slice(0, MOST_FLOWS).map((name, flow) => (
          <li key={name}>
            <Mark>
              <rect x="5" y="4" width="8" height="6" fill={`var(--flow-${flow % FLOW_COLOURS})`} />
            </Mark>
            {name}
          </li>
        ))}
        {flows.length > MOST_FLOWS && <li>and {flows.length - MOST_FLOWS} other flows</li>}
        {flows.length === 0 && (
          <li>
            <Mark>
              <rect x="5" y="4" width="8" height="6" fill="var(--flow-0)" />
            </Mark>
            packet with data
          </li>
        )}
        <li>
          <Mark>
            <circle cx="9" cy="7" r="2" fill="var(--flow-0)" opacity="0.6" />
          </Mark>
          ACK, or other packet without data
        </li>
        <li>
          <Mark>
            <rect x="5" y="4" width="8" height="6" fill="var(--flow-0)" stroke="var(--ink)" stroke-width="1.6" />
          </Mark>
          retransmission
        </li>
        {marks && (
          <li>
            <Mark>
              <rect x="5" y="4" width="8" height="6" fill="var(--flow-0)" />
              <circle cx="9" cy="7" r="5.5" fill="none" stroke="var(--accent)" stroke-width="1.5" />
            </Mark>
            marked CE
          </li>
        )}
        <li>
          <Mark>
            <path d="M4 2 L14 12 M14 2 L4 12" stroke="var(--accent)" stroke-width="2" />
          </Mark>
          dropped, or lost on a link
        </li>
        {scene.channels.length > 0 && (
          <>
            <li>
              <Mark>
                <path d="M1 12 Q9 -4 17 12" fill="none" stroke="var(--flow-0)" stroke-width="3" />
              </Mark>
              802.11 frame
            </li>
            <li>
              <Mark>
                <path
                  d="M1 12 Q9 -4 17 12"
                  fill="none"
                  stroke="var(--accent)"
                  stroke-width="2"
                  stroke-dasharray="4 3"
                />
              </Mark>
              frames that overlap in time
            </li>
          </>
        )}
      </ul>
      {notes(scene).map((note) => (
        <p class="network-note" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}

/** What the drawing does not show exactly. */
export function notes(scene: Scene): string[] {
  const { index, data } = scene;
  const found: string[] = [];
  if (index.log.left_out > 0) {
    const until = (index.until / 1e9).toFixed(3);
    found.push(`The packet log is full at ${until} s: ${index.log.left_out} later packets are not shown.`);
  }
  const named = (why: string): string =>
    index.wires.flatMap((wire, edge) => (wire.approximate === why ? [data.names.queues[edge]] : [])).join(", ");
  const traced = named("trace");
  if (traced) found.push(`Arrivals over ${traced} are approximate: the link follows a trace.`);
  const impaired = named("impairments");
  if (impaired) found.push(`Arrivals over ${impaired} are approximate: impairments change delays.`);
  if (index.edges.some((edge) => edge.source)) {
    found.push("Queues at hosts that send show the length of the latest sample.");
  }
  if (scene.channels.length > 0) {
    found.push(
      "802.11 queues show the length of the latest sample. A frame has the colour of its first packet's flow.",
    );
  }
  return found;
}
