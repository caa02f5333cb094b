/** The editor of a congestion control: JavaScript with line numbers, and a mark at the line that is at fault. */

import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  StreamLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { javascript } from "@codemirror/legacy-modes/mode/javascript";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** What the page does with the editor. */
export interface Editor {
  /** Shows another text; the cursor goes to its start. */
  show(text: string): void;
  /** Marks a line, and brings it into view; null for none. */
  mark(line: number | null): void;
  destroy(): void;
}

/** What the editor tells the page. */
export interface Heard {
  changed(text: string): void;
  /** Ctrl+Enter. */
  run(): void;
}

const marked = StateEffect.define<number | null>();

/** The marked line; a change of the text removes the mark. */
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    let next = transaction.docChanged ? Decoration.none : decorations;
    for (const effect of transaction.effects) {
      if (!effect.is(marked)) continue;
      const line = effect.value;
      const there = line !== null && line >= 1 && line <= transaction.state.doc.lines;
      next = there
        ? Decoration.set(Decoration.line({ class: "at-fault" }).range(transaction.state.doc.line(line).from))
        : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--link)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--bad)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--muted)", border: "none" },
  ".cm-scroller": { overflow: "auto", fontFamily: "ui-monospace, monospace" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--rule)" },
  ".at-fault": { backgroundColor: "color-mix(in srgb, var(--accent) 18%, transparent)" },
});

/** Puts an editor into an element. Tab indents; Escape and then Tab leaves the editor, as CodeMirror has it. */
export function edit(parent: HTMLElement, text: string, heard: Heard): Editor {
  let silent = false;
  const run = (): boolean => {
    heard.run();
    return true;
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of("  "),
        StreamLanguage.define(javascript),
        syntaxHighlighting(colours),
        theme,
        marks,
        EditorView.contentAttributes.of({ "aria-label": "Text of the congestion control, JavaScript", tabindex: "0" }),
        keymap.of([
          { key: "Mod-Enter", run },
          { key: "Tab", run: indentMore, shift: indentLess },
          ...historyKeymap,
          ...defaultKeymap.filter((one) => one.key !== "Mod-Enter"),
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !silent) heard.changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    show(next) {
      if (next === view.state.doc.toString()) return;
      silent = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: 0 } });
      silent = false;
    },
    mark(line) {
      view.dispatch({ effects: marked.of(line) });
      if (line === null || line > view.state.doc.lines) return;
      view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "center" }) });
    },
    destroy: () => view.destroy(),
  };
}
