/** The drawing: two canvases, one above the other, as wide as their container. */

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { hidden, playhead } from "../model/state";
import { geometryOf, type Point } from "./geometry";
import { paintMoving } from "./moving";
import { onTheme, type Palette, palette } from "./palette";
import { picked } from "./pick";
import { playing, speed } from "./player";
import type { Scene } from "./scene";
import { paintStill } from "./still";
import { packetWords } from "./words";

/** For how long a drop is seen, ms. */
const FALL_MS = 700;

/** Sets a canvas to a size in CSS pixels, at the screen's resolution, and returns its context. */
function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const scale = Math.min(2, devicePixelRatio || 1);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

/** Draws a scene at the playhead. */
export function Stage({ scene }: { scene: Scene }) {
  const box = useRef<HTMLDivElement>(null);
  const still = useRef<HTMLCanvasElement>(null);
  const moving = useRef<HTMLCanvasElement>(null);
  const shown = useSignal(scene);
  shown.value = scene;
  const width = useSignal(0);
  const colours = useSignal<Palette | null>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) width.value = Math.floor(entry.contentRect.width);
    });
    observer.observe(element);
    colours.value = palette(element);
    const themed = onTheme(() => {
      colours.value = palette(element);
    });
    return () => {
      observer.disconnect();
      themed();
    };
  }, []);
  const geometry = useComputed(() => {
    const { layout, scenario, data, index } = shown.value;
    return width.value > 0 ? geometryOf(layout, scenario, data, index, width.value) : null;
  });
  const grey = useComputed<ReadonlySet<number>>(() => {
    const names = shown.value.data.names.flows;
    return new Set(names.flatMap((name, flow) => (hidden.value.has(name) ? [flow] : [])));
  });
  const context = useSignal<CanvasRenderingContext2D | null>(null);
  useSignalEffect(() => {
    const drawing = geometry.value;
    if (!drawing || !colours.value || !still.current || !moving.current) return;
    const below = sized(still.current, drawing.width, drawing.height);
    context.value = null;
    context.value = sized(moving.current, drawing.width, drawing.height);
    if (below) paintStill(below, shown.value, drawing, colours.value);
  });
  useSignalEffect(() => {
    const drawing = geometry.value;
    if (!drawing || !colours.value || !context.value) return;
    paintMoving(context.value, shown.value, {
      geometry: drawing,
      palette: colours.value,
      at: Math.round(playhead.value * 1e9),
      fall: FALL_MS * 1e6 * speed.value,
      hidden: grey.value,
    });
  });
  const pointer = useSignal<Point | null>(null);
  // Steps tell of packets as the pointer does; while the animation plays, packets pass too fast to be read.
  const found = useComputed(() => {
    const drawing = geometry.value;
    if (!drawing || !pointer.value || playing.value) return null;
    const row = picked(shown.value, drawing, Math.round(playhead.value * 1e9), pointer.value);
    return row === null ? null : packetWords(shown.value, row);
  });
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing with keys has no element of its own
    <div
      ref={box}
      class="network-stage"
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys step and play
      tabIndex={0}
      aria-label="Drawing of the network. Space plays and pauses; left and right arrows step by an event, with Shift by a round-trip time; up and down arrows change the speed."
      onPointerMove={(event) => {
        const edges = event.currentTarget.getBoundingClientRect();
        pointer.value = { x: event.clientX - edges.left - 1, y: event.clientY - edges.top - 1 };
      }}
      onPointerLeave={() => {
        pointer.value = null;
      }}
      style={{ height: `${geometry.value?.height ?? 300}px` }}
    >
      <canvas ref={still} />
      <canvas ref={moving} />
      {found.value !== null && <div class="network-packet">{found.value}</div>}
    </div>
  );
}
