/** Makes the lessons' HTML from their files when the page is built: the text is there without JavaScript. */

import type { Check, Lesson, Link } from "./lesson";

/** Where documents are linked to. In the documentation site, `tools/site/assemble.py` lets the links stay in the site. */
const DOCUMENTS = "https://github.com/narrows/narrows/blob/main/docs/";

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (found) => ESCAPES[found] ?? found);
}

/** A paragraph's text as HTML: `code` between backticks. */
function inline(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** A number with its unit, as an answer shows it: with the digits that its tolerance holds. The space does not break. */
export function shown({ value, unit, tolerance }: Pick<Check, "value" | "unit" | "tolerance">): string {
  const digits = tolerance > 0 ? Math.max(0, Math.ceil(-Math.log10(2 * tolerance))) : 0;
  const text = value.toFixed(digits);
  return unit ? `${text}\u00a0${unit}` : text;
}

/**
 * An answer's paragraph with its numbers filled in.
 * @throws Error if it names a check that the lesson does not have.
 */
export function filled(text: string, lesson: Lesson): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => {
    const check = lesson.checks[name];
    if (!check) throw new Error(`lesson ${lesson.name}: the answer names the check ${name}, which is not there`);
    return shown(check);
  });
}

/** The address of a link; a document's is made complete. */
function address(href: string): string {
  return href.replace(/^docs\//, DOCUMENTS);
}

function links(all: Link[]): string {
  return all.map(({ label, href }) => `<li><a href="${escaped(address(href))}">${inline(label)}</a></li>`).join("");
}

function list(kind: "ol" | "ul", items: string[]): string {
  return `<${kind}>${items.map((item) => `<li>${inline(item)}</li>`).join("")}</${kind}>`;
}

function paragraphs(all: string[]): string {
  return all.map((text) => `<p>${inline(text)}</p>`).join("\n");
}

function page(title: string, root: string, body: string, script: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escaped(title)} - Narrows laboratory</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${root}src/ui/style.css" />
    <link rel="stylesheet" href="${root}src/lessons/lessons.css" />
  </head>
  <body>
${body}
    ${script ? `<script type="module" src="${root}${script}"></script>` : ""}
  </body>
</html>
`;
}

function turning(lessons: Lesson[], at: number): string {
  const link = (lesson: Lesson | undefined, rel: string, words: string): string =>
    lesson ? `<a rel="${rel}" href="../${lesson.name}/index.html">${words} ${escaped(lesson.title)}</a>` : "";
  return [
    '<a href="../index.html">All lessons</a>',
    link(lessons[at - 1], "prev", "Previous:"),
    link(lessons[at + 1], "next", "Next:"),
  ].join(" ");
}

/** The page of the lesson at an index. */
export function lessonPage(lessons: Lesson[], at: number): string {
  const lesson = lessons[at];
  if (!lesson) throw new Error(`there is no lesson ${at}`);
  const body = `<div class="lesson">
<article>
<nav aria-label="Lessons">${turning(lessons, at)}</nav>
<h1><span class="number">Lesson ${at + 1}</span> ${escaped(lesson.title)}</h1>
${paragraphs(lesson.text)}
<section class="question">
<h2>Question</h2>
<p>${inline(lesson.question)}</p>
${list("ol", lesson.steps)}
<p class="notes">Settings that have no control of their own are changed in the scenario's text.</p>
<div id="watched"></div>
</section>
<details><summary>Hints</summary>
${list("ul", lesson.hints)}
</details>
<details class="answer"><summary>Answer</summary>
${paragraphs(lesson.answer.map((text) => filled(text, lesson)))}
</details>
<details><summary>Scenario of this lesson</summary>
<pre id="scenario" tabindex="0" aria-label="Scenario of this lesson, TOML">${escaped(lesson.toml)}</pre>
</details>
<h2>Sources</h2>
<ul>${links(lesson.sources)}</ul>
<h2>In the documentation</h2>
<ul>${links(lesson.docs)}</ul>
<p class="tools"><a id="open" href="../../index.html">Open in the laboratory</a>
<button type="button" id="print" hidden>Print</button>
<button type="button" id="print-answer" hidden>Print with hints and answer</button></p>
<nav aria-label="Previous and next lesson">${turning(lessons, at)}</nav>
</article>
<div id="app"><noscript>The laboratory needs JavaScript and WebAssembly. The lesson can be read without them.</noscript></div>
</div>
<script type="application/json" id="watch">${JSON.stringify(lesson.watch).replace(/</g, "\\u003c")}</script>`;
  return page(lesson.title, "../../", body, "src/lessons/main.tsx");
}

/** The list of lessons. */
export function listPage(lessons: Lesson[]): string {
  const items = lessons.map(
    ({ name, title, summary }) =>
      `<li><a href="${name}/index.html">${escaped(title)}</a><p>${inline(summary)}</p></li>`,
  );
  const body = `<main class="lessons">
<nav aria-label="Pages"><a href="../index.html">Laboratory</a></nav>
<h1>Lessons</h1>
<p>Each lesson has a short text, a scenario that runs in the page, a question to answer by trying, and the answer with
numbers from the engine. A lesson prints without its answer, or with it.</p>
<ol>
${items.join("\n")}
</ol>
</main>`;
  return page("Lessons", "../", body, "");
}

/** All pages by their place below the page's root. */
export function pages(lessons: Lesson[]): Map<string, string> {
  const made = new Map([["lessons/index.html", listPage(lessons)]]);
  for (const [at, lesson] of lessons.entries()) {
    made.set(`lessons/${lesson.name}/index.html`, lessonPage(lessons, at));
  }
  return made;
}
