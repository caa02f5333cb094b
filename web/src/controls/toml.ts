/**
 * Reads TOML into plain values: which keys a scenario's text has, and what stands there.
 *
 * The engine is the judge of a text. This reader serves texts that the engine has accepted, and throws on others.
 */

/** A value of a document; quantities such as `10 Mb/s` are text. */
export type Value = string | number | boolean | Value[] | Tree;

/** A table. It has no prototype, so that no key of a text is a method. */
export interface Tree {
  [key: string]: Value;
}

/** A path into a document: keys, and indices of arrays. */
export type Path = (string | number)[];

const table = (): Tree => Object.create(null);

/** Whether a value is a table. */
export function isTable(value: Value | undefined): value is Tree {
  return typeof value === "object" && !Array.isArray(value);
}

/** The value at a path; undefined if there is none. */
export function get(tree: Value | undefined, path: Path): Value | undefined {
  let value = tree;
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)];
    else if (isTable(value)) value = value[key];
    else return undefined;
  }
  return value;
}

/** A path as the engine takes it: `links[0].queue.limit`. */
export function written(path: Path): string {
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`))
    .join("")
    .slice(1);
}

/** A value as TOML on one line. */
export function toml(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (!isTable(value)) return String(value);
  const entries = Object.entries(value).map(
    ([key, one]) => `${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)} = ${toml(one)}`,
  );
  return entries.length ? `{ ${entries.join(", ")} }` : "{}";
}

const ESCAPES: Record<string, string> = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\x1b",
  '"': '"',
  "\\": "\\",
};

/** The character that an escape of a basic string stands for; an escaped end of line stands for nothing. */
function unescaped(_: string, code: string): string {
  if (/^[xuU]/.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
  return /^\s/.test(code) ? "" : (ESCAPES[code] ?? code);
}

const ESCAPE = /\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[ \t]*\r?\n\s*|.)/g;

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): Tree {
    const root = table();
    let current = root;
    for (this.blank(); this.at < this.text.length; this.blank()) {
      if (this.text[this.at] === "[") current = this.header(root);
      else this.pair(current);
    }
    return root;
  }

  /** Takes what a pattern matches here. */
  private take(pattern: RegExp): RegExpExecArray | null {
    const sticky = new RegExp(pattern.source, "y");
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text);
    if (found) this.at = sticky.lastIndex;
    return found;
  }

  private need(pattern: RegExp, what: string): RegExpExecArray {
    const found = this.take(pattern);
    if (found) return found;
    const line = this.text.slice(0, this.at).split("\n").length;
    throw new Error(`line ${line}: expected ${what}`);
  }

  /** Skips spaces, ends of lines and comments. */
  private blank(): void {
    this.take(/(?:\s|#[^\n]*)*/);
  }

  private key(): string[] {
    const parts: string[] = [];
    do {
      this.take(/[ \t]*/);
      parts.push(/["']/.test(this.text[this.at] ?? "") ? this.string() : this.need(/[\w-]+/, "a key")[0]);
      this.take(/[ \t]*/);
    } while (this.take(/\./));
    return parts;
  }

  /** The table below a table, made where it is missing; of an array, its last table. */
  private below(tree: Tree, key: string): Tree {
    if (!(key in tree)) tree[key] = table();
    const value = tree[key];
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (!isTable(last)) throw new Error(`${key} is no table`);
    return last;
  }

  private header(root: Tree): Tree {
    const many = this.need(/\[\[?/, "a table")[0].length === 2;
    const path = this.key();
    this.need(many ? /\]\]/ : /\]/, "the end of a header");
    const last = path.pop() ?? "";
    const parent = path.reduce((tree, key) => this.below(tree, key), root);
    if (!many) return this.below(parent, last);
    const array = parent[last] ?? [];
    if (!Array.isArray(array)) throw new Error(`${last} is no array`);
    const made = table();
    array.push(made);
    parent[last] = array;
    return made;
  }

  private pair(into: Tree): void {
    const path = this.key();
    this.need(/=[ \t]*/, "=");
    const last = path.pop() ?? "";
    path.reduce((tree, key) => this.below(tree, key), into)[last] = this.value();
  }

  private value(): Value {
    switch (this.text[this.at]) {
      case '"':
      case "'":
        return this.string();
      case "[":
        return this.array();
      case "{":
        return this.inline();
      default:
        return this.bare(this.need(/[^\s,\]}#]+(?: \d\d:[^\s,\]}#]+)?/, "a value")[0]);
    }
  }

  private bare(word: string): Value {
    if (word === "true" || word === "false") return word === "true";
    if (/^[+-]?(inf|nan)$/.test(word)) return Number(word.replace("inf", "Infinity").replace(/.*nan/, "NaN"));
    const number = Number(word.replaceAll("_", ""));
    return Number.isNaN(number) ? word : number;
  }

  private string(): string {
    const long = this.take(/"""\r?\n?((?:[^\\]|\\[\s\S])*?"{0,2})"""(?!")|'''\r?\n?([\s\S]*?'{0,2})'''(?!')/);
    const found = long ?? this.need(/"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'/, "text in quotes");
    return found[2] ?? (found[1] ?? "").replace(ESCAPE, unescaped);
  }

  private array(): Value[] {
    const values: Value[] = [];
    this.need(/\[/, "[");
    for (this.blank(); !this.take(/\]/); this.blank()) {
      values.push(this.value());
      this.blank();
      this.take(/,/);
    }
    return values;
  }

  private inline(): Tree {
    const made = table();
    this.need(/\{/, "{");
    for (this.blank(); !this.take(/\}/); this.blank()) {
      this.pair(made);
      this.blank();
      this.take(/,/);
    }
    return made;
  }
}

/**
 * Reads a document.
 * @throws Error if the text is not TOML.
 */
export function read(text: string): Tree {
  return new Reader(text).document();
}
