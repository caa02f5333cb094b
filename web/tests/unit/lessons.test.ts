import { existsSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../src/engine/engine";
import type { RunData } from "../../src/engine/types";
import { lessons } from "../../src/lessons/content";
import type { Lesson } from "../../src/lessons/lesson";
import { measured } from "../../src/lessons/measure";
import { filled, pages, shown } from "../../src/lessons/pages";
import { loaded } from "../engine";
import { ran } from "../run";

/** Events that a run of a lesson may have: 0.3 s in a browser, where a million takes about half a second. */
const MOST_EVENTS = 600_000;

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});

function changed(lesson: Lesson, changes: Record<string, string> = {}): string {
  return Object.entries(changes).reduce((text, [path, value]) => engine.set(text, path, value), lesson.toml);
}

/** Runs a lesson's scenario with changes; the same one once. */
const done = new Map<string, RunData>();
function runOf(lesson: Lesson, changes?: Record<string, string>): RunData {
  const text = changed(lesson, changes);
  const known = done.get(text) ?? ran(engine, text);
  done.set(text, known);
  return known;
}

/** Numbers of a lesson's answer that its runs do not give. */
function differences(lesson: Lesson): string[] {
  return Object.entries(lesson.checks).flatMap(([name, check]) => {
    const value = measured(check.measure, runOf(lesson, check.changes));
    if (Math.abs(value - check.value) <= check.tolerance) return [];
    return [`${name}: the answer says ${check.value} ${check.unit}, the run gives ${value}`];
  });
}

describe.each(lessons.map((lesson) => [lesson.name, lesson] as const))("lesson %s", (_, lesson) => {
  test("the runs give the numbers of the answer", () => {
    expect(differences(lesson)).toEqual([]);
  });

  test("tolerances are at most a twentieth of the value", () => {
    const loose = Object.entries(lesson.checks).filter(([, one]) => one.tolerance > 0.05 * Math.abs(one.value));
    expect(loose.map(([name]) => name)).toEqual([]);
  });

  test("the answer uses every check, and has no other numbers than its lesson's settings", () => {
    const answer = lesson.answer.join(" ");
    const unused = Object.keys(lesson.checks).filter((name) => !answer.includes(`{${name}}`));
    expect(unused).toEqual([]);
    const numbers = (text: string): string[] => text.match(/\d+(\.\d+)?/g) ?? [];
    const values = Object.values(lesson.checks).flatMap((check) => Object.values(check.changes ?? {}));
    const given = [
      lesson.toml,
      ...lesson.text,
      lesson.question,
      ...lesson.steps,
      ...lesson.hints,
      ...lesson.watch.map(({ label }) => label),
      ...values,
    ].flatMap(numbers);
    const stated = numbers(answer.replace(/\(RFC [^)]*\)|\{\w+\}/g, ""));
    expect(stated.filter((one) => !given.includes(one))).toEqual([]);
  });

  test("its scenario runs quickly, with the changes of its checks too", () => {
    const changes = [{}, ...Object.values(lesson.checks).map((check) => check.changes ?? {})];
    const slow = changes.filter((one) => runOf(lesson, one).events > MOST_EVENTS);
    expect(slow).toEqual([]);
  });

  test("every watched number is there, at first or after a change", () => {
    const changes = [{}, ...Object.values(lesson.checks).map((check) => check.changes ?? {})];
    const runs = changes.map((one) => runOf(lesson, one));
    const missing = lesson.watch.filter(({ measure }) => runs.every((run) => Number.isNaN(measured(measure, run))));
    expect(missing.map((one) => one.label)).toEqual([]);
  });
});

test("texts, links and scenario are in the HTML, and are text there", () => {
  const [first] = lessons;
  if (!first) throw new Error("there are no lessons");
  const lesson = { ...first, title: 'A <b> & "c"', toml: "# </pre><script>\n" };
  const html = pages([lesson, ...lessons.slice(1)]).get(`lessons/${first.name}/index.html`) ?? "";
  expect(html).toContain("A &lt;b&gt; &amp; &quot;c&quot;</h1>");
  expect(html).toContain("# &lt;/pre&gt;&lt;script&gt;");
  expect(html).toContain('href="https://github.com/narrows/narrows/blob/main/docs/slow-start.md"');
  expect(html).toContain(`href="../${lessons[1]?.name}/index.html"`);
});

test("an answer that names an unknown check is refused", () => {
  const [lesson] = lessons;
  if (!lesson) throw new Error("there are no lessons");
  expect(() => filled("{absent}", lesson)).toThrow("lesson slow-start: the answer names the check absent");
  expect(filled("It is {ends}.", lesson)).toBe(
    `It is ${shown(lesson.checks.ends ?? { value: 0, unit: "", tolerance: 0 })}.`,
  );
});

test("the list has every lesson, and every lesson has a document that is there", () => {
  const list = pages(lessons).get("lessons/index.html") ?? "";
  expect(lessons.filter((one) => !list.includes(`href="${one.name}/index.html"`))).toEqual([]);
  const documents = lessons.flatMap((one) => one.docs.map(({ href }) => href.replace(/#.*/, "")));
  expect(documents.filter((path) => !existsSync(new URL(`../../../${path}`, import.meta.url)))).toEqual([]);
});

test("a number is shown with the digits that its tolerance holds", () => {
  expect(shown({ value: 6, unit: "Mb/s", tolerance: 0.05 })).toBe("6.0\u00a0Mb/s");
  expect(shown({ value: 32, unit: "", tolerance: 0.5 })).toBe("32");
  expect(shown({ value: 137, unit: "packets", tolerance: 0 })).toBe("137\u00a0packets");
});
