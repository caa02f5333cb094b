/** A plot: its canvas, the cursor and the playhead over it, and what pointer and keyboard do there. */

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { cursor, hidden, playhead, range } from "../model/state";
import { Canvas } from "./canvas";
import { type Figure, firstFrom, length, timeAt } from "./figure";
import { whenIdle } from "./idle";
import { theme } from "./palette";
import { entries } from "./readout";
import { lower } from "./rows";
import { duration, figures, off, show, stretch } from "./shown";
import { seconds } from "./words";

/** Shortest drag that zooms, px. */
const DRAG = 4;

/** When a plot out of sight is drawn at the latest, ms after a change. */
const LATEST_MS = 500;

/** A plot of the figure with this identifier. */
export function Plot({ id, label, height }: { id: string; label: string; height: number }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => (host.current ? mount(host.current, id, height) : undefined), [id, height]);
  return (
    <div
      ref={host}
      class="plot"
      style={{ minHeight: `${height}px` }}
      role="slider"
      tabIndex={0}
      aria-label={`Cursor in ${label}`}
      aria-valuemin={0}
      aria-valuenow={0}
      aria-keyshortcuts="ArrowLeft ArrowRight Home End + - Escape Enter"
    />
  );
}

const named = (id: string): Figure | undefined => figures.value.find((one) => one.id === id);

function element(name: string): HTMLElement {
  const made = document.createElement("div");
  made.className = name;
  made.setAttribute("aria-hidden", "true");
  return made;
}

/** Puts a plot into its place; returns what removes it. */
function mount(host: HTMLElement, id: string, height: number): () => void {
  const canvas = new Canvas(host, height);
  const { over } = canvas;
  const [line, head, box, strip] = ["cursor-line", "playhead-line", "brush", "strip"].map(element);
  if (!line || !head || !box || !strip) throw new Error("the page cannot make elements");
  over.append(line, head, box);
  over.after(strip);
  const align = (): void => {
    strip.style.left = over.style.left;
    strip.style.width = over.style.width;
    strip.style.top = `${over.offsetTop + over.offsetHeight}px`;
  };
  let visible = true;
  // A plot out of sight is drawn when nothing else is to be done: those in sight come first.
  let waiting: (() => void) | null = null;
  const stopWaiting = (): void => {
    waiting?.();
    waiting = null;
  };
  const later = (): void => {
    waiting ??= whenIdle(() => {
      waiting = null;
      const figure = figures.peek().find((one) => one.id === id);
      if (figure) canvas.update(figure, off, stretch.peek());
    }, LATEST_MS);
  };
  const draw = (): void => {
    // Read first: the effect of a plot out of sight still depends on them.
    const [figure, span] = [named(id), stretch.value];
    void [hidden.value, theme.value];
    if (!figure) return;
    if (!visible) {
      later();
      return;
    }
    stopWaiting();
    canvas.update(figure, off, span);
    // For measurements; only the last one is kept.
    performance.clearMarks("narrows:drawn");
    performance.mark("narrows:drawn");
  };
  const at = (mark: HTMLElement, time: number | null): void => {
    const [from, to] = stretch.value;
    const inside = time !== null && time >= from && time <= to;
    mark.style.display = inside ? "block" : "none";
    if (inside) mark.style.transform = `translateX(${((time - from) / (to - from)) * over.clientWidth}px)`;
  };
  const tell = (): void => {
    const time = cursor.value;
    const figure = named(id);
    host.setAttribute("aria-valuemax", String(duration.value));
    host.setAttribute("aria-valuenow", String(time ?? 0));
    // The text is for screen readers: only the focused plot says it.
    if (document.activeElement !== host || !figure) return;
    const values = time === null ? [] : entries(figure, time).map(({ name, value }) => `${name} ${value}`);
    const text = time === null ? "no time is chosen" : [`${seconds(time)} s`, ...values].join(", ");
    host.setAttribute("aria-valuetext", text);
  };
  const ends = [
    effect(draw),
    effect(() => at(line, cursor.value)),
    effect(() => at(head, playhead.value)),
    effect(tell),
    pointer(over, strip, box),
    keyboard(host, id),
  ];
  align();
  const sizes = new ResizeObserver(() => {
    if (!canvas.resize()) return;
    align();
    draw();
    at(line, cursor.peek());
    at(head, playhead.peek());
  });
  sizes.observe(host);
  const sights = new IntersectionObserver(
    (entries) => {
      // Of several, the last one is the present state.
      visible = entries.at(-1)?.isIntersecting ?? true;
      if (visible && waiting) draw();
    },
    { rootMargin: "200px" },
  );
  sights.observe(host);
  return () => {
    for (const end of ends) end();
    stopWaiting();
    sizes.disconnect();
    sights.disconnect();
    canvas.destroy();
    host.replaceChildren();
  };
}

/** Dragging over the values zooms, a double click shows the whole run; the strip sets the playhead. */
function pointer(over: HTMLElement, strip: HTMLElement, box: HTMLElement): () => void {
  const place = (event: PointerEvent): number => {
    const { left, width } = over.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - left) / width));
  };
  const time = (share: number): number => {
    const [from, to] = stretch.peek();
    return from + share * (to - from);
  };
  let begun: { share: number; x: number } | null = null;
  const listeners: [HTMLElement, string, (event: PointerEvent) => void][] = [
    [
      over,
      "pointerdown",
      (event) => {
        if (event.button !== 0) return;
        begun = { share: place(event), x: event.clientX };
        over.setPointerCapture(event.pointerId);
        cursor.value = time(begun.share);
      },
    ],
    [
      over,
      "pointermove",
      (event) => {
        const here = place(event);
        cursor.value = time(here);
        const dragged = begun !== null && Math.abs(event.clientX - begun.x) > DRAG;
        box.style.display = dragged ? "block" : "none";
        if (!begun || !dragged) return;
        const width = over.clientWidth;
        box.style.left = `${Math.min(begun.share, here) * width}px`;
        box.style.width = `${Math.abs(here - begun.share) * width}px`;
      },
    ],
    [
      over,
      "pointerup",
      (event) => {
        box.style.display = "none";
        if (begun && Math.abs(event.clientX - begun.x) > DRAG) show(time(begun.share), time(place(event)));
        begun = null;
      },
    ],
    [
      over,
      "pointercancel",
      () => {
        begun = null;
        box.style.display = "none";
      },
    ],
    [
      over,
      "pointerleave",
      () => {
        if (!begun) cursor.value = null;
      },
    ],
    [
      strip,
      "pointerdown",
      (event) => {
        strip.setPointerCapture(event.pointerId);
        playhead.value = time(place(event));
      },
    ],
    [
      strip,
      "pointermove",
      (event) => {
        if (strip.hasPointerCapture(event.pointerId)) playhead.value = time(place(event));
      },
    ],
  ];
  for (const [target, name, listener] of listeners) target.addEventListener(name, listener as EventListener);
  const whole = (): void => {
    range.value = null;
  };
  over.addEventListener("dblclick", whole);
  return () => {
    for (const [target, name, listener] of listeners) target.removeEventListener(name, listener as EventListener);
    over.removeEventListener("dblclick", whole);
  };
}

/** Times that the arrow keys step through: those of the line with the most points. */
function steps(figure: Figure): { count: number; at: (index: number) => number; from: (time: number) => number } {
  const times = figure.custom?.times;
  if (times) return { count: times.length, at: (i) => times[i] ?? 0, from: (time) => lower(times, time) };
  const shown = figure.lines.filter((one) => !off(one));
  const most = shown.reduce<Figure["lines"][number] | undefined>(
    (best, one) => (!best || length(one.series) > length(best.series) ? one : best),
    undefined,
  );
  if (!most) return { count: 0, at: () => 0, from: () => 0 };
  return {
    count: length(most.series),
    at: (i) => timeAt(most.series, i),
    from: (time) => firstFrom(most.series, time),
  };
}

/** Points that PageUp and PageDown step over. */
const PAGE = 20;

const MOVES: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: PAGE, PageDown: -PAGE };

/** Where a key moves the cursor to; null if the figure has no points. */
function moved(figure: Figure, key: string): number | null {
  const [from, to] = stretch.peek();
  const { count, at, from: first } = steps(figure);
  if (count === 0) return null;
  const [low, high] = [first(from), Math.max(first(from), first(to + 1e-12) - 1)];
  const now = cursor.peek();
  const move = MOVES[key];
  let next = key === "End" ? high : low;
  if (move !== undefined && now !== null) {
    // A cursor between two points steps to the next one.
    const place = first(now - 1e-12);
    const exact = Math.abs(at(place) - now) < 1e-9;
    next = place + (exact || move < 0 ? move : move - 1);
  }
  return at(Math.max(low, Math.min(high, next)));
}

/** Zooms by a factor around the cursor, or the middle. */
function zoom(factor: number): void {
  const [from, to] = stretch.peek();
  const middle = cursor.peek() ?? (from + to) / 2;
  show(middle - (middle - from) * factor, middle + (to - middle) * factor);
}

/** Does what a key asks for; whether it asks for anything. */
function act(figure: Figure, key: string): boolean {
  if (key in MOVES || key === "Home" || key === "End") {
    const time = moved(figure, key);
    if (time !== null) cursor.value = time;
  } else if (key === "+" || key === "=") zoom(0.5);
  else if (key === "-") zoom(2);
  else if (key === "Escape") {
    range.value = null;
    cursor.value = null;
  } else if (key === "Enter") playhead.value = cursor.peek() ?? stretch.peek()[0];
  else return false;
  return true;
}

function keyboard(host: HTMLElement, id: string): () => void {
  const pressed = (event: KeyboardEvent): void => {
    const figure = named(id);
    if (!figure || event.ctrlKey || event.metaKey || event.altKey) return;
    if (act(figure, event.key)) event.preventDefault();
  };
  host.addEventListener("keydown", pressed);
  return () => host.removeEventListener("keydown", pressed);
}
