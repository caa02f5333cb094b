/** Scenarios that the page offers: the bundled ones and short ones of papers, in groups, and the traces they name. */

/** A scenario that the page offers. */
export interface Preset {
  /** Name as on the command line. */
  name: string;
  title: string;
  /** What it shows, in a few sentences; empty if the text has no description. */
  description: string;
  group: string;
  toml: string;
  /** Changes that make the second arm: paths and values as the command line's `--set` takes them. */
  against?: [path: string, value: string][];
}

const texts = import.meta.glob<string>("../../../scenarios/*.toml", { query: "?raw", import: "default", eager: true });

const own = import.meta.glob<string>("../../presets/*.toml", { query: "?raw", import: "default", eager: true });

const urls = import.meta.glob<string>("../../../scenarios/traces/*", { query: "?url", import: "default", eager: true });

/** Groups in order, with the scenarios whose order in the group matters. A scenario that none names is in the last. */
const GROUPS: [group: string, names: string[]][] = [
  ["First steps", ["dumbbell-cubic", "standard", "changing-rate", "lossy-link"]],
  ["Fairness", ["rtt-unfairness", "bbr-vs-cubic", "parking-lot", "contest-wired", "linux-vs-rfc"]],
  ["Queues and ECN", ["red-ecn", "dctcp-marking", "l4s", "l4s-dctcp", "policer"]],
  ["Papers", []],
  ["Network-assisted", ["acns", "acns-live", "ngwa"]],
  ["Wireless", ["wifi-cell", "hybrid-contest", "cellular", "reordering"]],
  ["Applications", ["request-response", "page-loads", "video", "call", "web-search"]],
  [
    "Queue management by RFC 7928",
    [
      "aqm-tcp-friendly",
      "aqm-unresponsive",
      "aqm-mixed-rtt",
      "aqm-bursts",
      "aqm-ecn",
      "aqm-asymmetric",
      "aqm-transitions",
    ],
  ],
  ["Others", []],
];

/** Pairs of the papers: a scenario, and what differs in the second arm. */
const PAPERS: { name: string; of: string; title: string; description: string; against: [string, string][] }[] = [
  {
    name: "acns-pair",
    of: "acns",
    title: "ACNS, with and without",
    description:
      "The evaluation of the Advanced Congestion Notification System: A with commands of the routers, B without (Hruby, Olsovsky and Kotocova, DCNET 2013).",
    against: [["acns.enabled", "false"]],
  },
  {
    name: "ngwa-pair",
    of: "ngwa",
    title: "NGWA's windows, with and without",
    description:
      "Routers tell receivers how many bytes their queue takes, and receivers advertise no more: A with NGWA, B without (Talau and Wille).",
    against: [["ngwa.enabled", "false"]],
  },
  {
    name: "agile-sd-pair",
    of: "agile-sd-epochs",
    title: "Agile-SD's epochs beside NewReno's",
    description:
      "How fast one flow regains its window after each loss: A with Agile-SD, B with NewReno (Alrshah, Othman, Ali and Hanapi, JNCA 2015).",
    against: [["tcp.cc", "newreno"]],
  },
  {
    name: "contest-wifi-pair",
    of: "hybrid-contest",
    title: "A pair of the contest on Wi-Fi: Reno and CUBIC",
    description:
      "Two flows to stations of one 802.11 channel: A with the windows of 20 packets that the contest had, B without this limit.",
    against: [
      ["tcp.max_cwnd", "unlimited"],
      ["tcp.initial_ssthresh", "unlimited"],
    ],
  },
];

/** The title that a text gives itself. */
function titled(toml: string): string | undefined {
  return /^title = "(.*)"$/m.exec(toml)?.[1];
}

/** The description of a text, or else the comment at its head up to the first command or empty line. */
export function described(toml: string): string {
  const given = /^description = (?:"""([\s\S]*?)"""|"(.*)")/m.exec(toml);
  if (given) return (given[1] ?? given[2] ?? "").replace(/\s+/g, " ").trim();
  const head = /^(?:#.*\n)*/.exec(toml)?.[0] ?? "";
  const lines = head.split("\n").map((line) => line.replace(/^# ?/, ""));
  const until = lines.findIndex((line) => /^ {2}|^$/.test(line));
  return lines
    .slice(0, until < 0 ? undefined : until)
    .join(" ")
    .trim();
}

const named = new Map(
  Object.entries({ ...texts, ...own }).map(([path, toml]) => [path.replace(/^.*\/(.*)\.toml$/, "$1"), toml]),
);

function preset(name: string, group: string): Preset {
  const toml = named.get(name) ?? "";
  return { name, title: titled(toml) ?? name, description: described(toml), group, toml };
}

const listed = new Set([...GROUPS.flatMap(([, names]) => names), ...PAPERS.map(({ of }) => of)]);

/** The scenarios in their groups, the first one first. */
export const presets: Preset[] = GROUPS.flatMap(([group, names]) => {
  if (group === "Papers") {
    return PAPERS.map(({ of, ...paper }): Preset => ({ ...paper, group, toml: named.get(of) ?? "" }));
  }
  const rest = group === "Others" ? [...named.keys()].filter((name) => !listed.has(name)).sort() : [];
  return [...names, ...rest].filter((name) => named.has(name)).map((name) => preset(name, group));
});

/** The traces that bundled scenarios name, by the names that they use. */
export async function traces(): Promise<Record<string, Uint8Array>> {
  const all = Object.entries(urls).map(async ([path, url]): Promise<[string, Uint8Array]> => {
    const name = path.replace(/^.*\/(traces\/.*)$/, "$1");
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${name}: cannot be loaded (${answer.status})`);
    return [name, new Uint8Array(await answer.arrayBuffer())];
  });
  return Object.fromEntries(await Promise.all(all));
}
