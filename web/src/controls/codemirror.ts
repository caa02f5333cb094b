/** The editor of a scenario's text. It is loaded when the page has been shown. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { Annotation, EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  GutterMarker,
  gutter,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** A line with a problem or a warning. */
export interface Mark {
  /** From 1. */
  line: number;
  severity: "problem" | "warning";
  message: string;
}

/** The editor's part that the page uses. */
export interface Editor {
  /** Shows a text of a document. What is the same stays, with the cursor in it. Each document has its own history. */
  show(document: string, text: string, locked: boolean): void;
  mark(marks: Mark[]): void;
  /** Scrolls to a line and puts the cursor there. */
  reveal(line: number): void;
  destroy(): void;
}

class Sign extends GutterMarker {
  constructor(private readonly mark: Mark) {
    super();
  }

  override eq(other: Sign): boolean {
    return other.mark.message === this.mark.message && other.mark.severity === this.mark.severity;
  }

  override toDOM(): Node {
    const sign = document.createElement("span");
    sign.className = `sign ${this.mark.severity}`;
    sign.title = this.mark.message;
    sign.textContent = this.mark.severity === "problem" ? "●" : "▲";
    return sign;
  }
}

const setMarks = StateEffect.define<Mark[]>();

/** A change that the page made, which it must not be told of. */
const fromPage = Annotation.define<boolean>();

/** Marks within the text, by line. */
function within(state: EditorState, marks: Mark[]): { from: number; mark: Mark }[] {
  return marks
    .filter(({ line }) => line >= 1 && line <= state.doc.lines)
    .sort((left, right) => left.line - right.line)
    .map((mark) => ({ from: state.doc.line(mark.line).from, mark }));
}

const lines = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    let next = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      const marks = within(transaction.state, effect.value);
      next = Decoration.set(
        marks.map(({ from, mark }) => Decoration.line({ class: `line-${mark.severity}` }).range(from)),
      );
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const signs = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(value, transaction) {
    let next = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      next = RangeSet.of(within(transaction.state, effect.value).map(({ from, mark }) => new Sign(mark).range(from)));
    }
    return next;
  },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--ink)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--bad)" },
  { tag: [tags.heading, tags.bracket, tags.squareBracket], color: "var(--link)" },
]);

const theme = EditorView.theme({
  "&": { fontSize: "13px", maxHeight: "inherit", backgroundColor: "var(--paper)", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--link)" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.4", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--muted)", borderRight: "1px solid var(--rule)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--link) 7%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--link) 25%, transparent)",
  },
  ".cm-signs": { width: "1.1em", textAlign: "center" },
  ".line-problem": { backgroundColor: "color-mix(in srgb, var(--accent) 14%, transparent)" },
  ".line-warning": { backgroundColor: "color-mix(in srgb, var(--bad) 12%, transparent)" },
});

/** The smallest replacement that turns one text into another. */
export function difference(before: string, after: string): { from: number; to: number; insert: string } {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let end = 0;
  while (end < most - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}

/**
 * Puts an editor into an element.
 * @param label - What it is, for screen readers.
 * @param typed - Called with each text that the user makes.
 */
export function edit(parent: HTMLElement, label: string, typed: (text: string) => void): Editor {
  const begin = (text: string, locked: boolean): EditorState =>
    EditorState.create({
      doc: text,
      extensions: [
        gutter({ class: "cm-signs", markers: (shown) => shown.state.field(signs) }),
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        lines,
        signs,
        StreamLanguage.define(toml),
        syntaxHighlighting(colours),
        theme,
        EditorState.readOnly.of(locked),
        // Tab is left to the page, so that the keyboard gets out again.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          const own = update.transactions.some((one) => one.docChanged && !one.annotation(fromPage));
          if (own) typed(update.state.doc.toString());
        }),
      ],
    });
  const view = new EditorView({ parent, state: begin("", true) });
  const states = new Map<string, EditorState>();
  let current = "";
  /** The marks that are shown, as text; null if they are those of an earlier time. */
  let marked: string | null = null;
  return {
    show(document, text, locked) {
      if (document !== current) {
        states.set(current, view.state);
        view.setState(states.get(document) ?? begin(text, locked));
        current = document;
        marked = null;
      }
      const before = view.state.doc.toString();
      if (before !== text) view.dispatch({ changes: difference(before, text), annotations: fromPage.of(true) });
    },
    mark(marks) {
      // While a slider is dragged marks mostly stay, and an update takes milliseconds.
      const now = JSON.stringify(marks);
      if (now !== marked) view.dispatch({ effects: setMarks.of(marks) });
      marked = now;
    },
    reveal(line) {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines)).from;
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
