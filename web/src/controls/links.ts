/** Links and 802.11 channels that controls can change: where a text has them, and what flows over them. */

import type { Parsed, Resolved } from "../engine/types";
import { channelRate, direction, type Hop, routes } from "../model/paths";
import { write as quantity, RATE } from "./quantity";
import { get, isTable, type Path, type Tree } from "./toml";

/** Where a text describes links, and which links of the resolved scenario these are. */
export interface Place {
  path: Path;
  links: number[];
  /** What they are, in the words of the topology. */
  title: string;
}

/** A direction, a link whose directions are equal, a group of equal links, or a channel. */
export interface LinkChoice {
  /** The same as long as the text has the link. */
  id: string;
  label: string;
  kind: "link" | "channel";
  path: Path;
  /** The direction; null if both are equal. */
  side: "forward" | "reverse" | null;
  /** Its direction in the resolved scenario; of a channel, the channel. */
  resolved: Resolved;
  /** Rate, b/s; of a channel, the rate of data frames as far as the page knows it. */
  rate: number;
  /** Flows of the resolved scenario whose data crosses it. */
  flows: number[];
}

/** The range of whole numbers from `first`, `count` of them. */
const count = (first: number, number: number): number[] => Array.from({ length: number }, (_, index) => first + index);

/** Where a text describes its links. The resolved scenario has those of the shorthand first, in the order of its doc. */
export function places(tree: Tree, resolved: Resolved): Place[] {
  const own = Array.isArray(tree.links) ? tree.links.length : 0;
  const made = resolved.links.length - own;
  const listed = count(0, own).map((index) => ({ path: ["links", index], links: [made + index], title: "link" }));
  return [...shorthand(tree, made), ...listed];
}

function shorthand(tree: Tree, made: number): Place[] {
  const kind = get(tree, ["topology", "kind"]);
  const middle = kind === "parking_lot" ? Number(get(tree, ["topology", "hops"]) ?? 2) : kind === "dumbbell" ? 1 : 0;
  switch (kind) {
    case "dumbbell":
    case "parking_lot":
      return [
        ...part(tree, "bottleneck", count(0, middle), 1, "bottleneck"),
        ...part(tree, "access", count(middle, made - middle), 2, "access links"),
      ];
    case "chain":
      return part(tree, "link", count(0, made), 1, "link");
    case "star":
      return part(tree, "access", count(0, made), 1, "access links");
    default:
      return [];
  }
}

/** A table of a shorthand for all links, or a list of tables with `each` links per table. */
function part(tree: Tree, key: string, links: number[], each: number, title: string): Place[] {
  const path: Path = ["topology", key];
  const value = get(tree, path);
  if (!Array.isArray(value)) return [{ path, links, title }];
  return value.map((_, index) => ({
    path: [...path, index],
    links: value.length === 1 ? links : links.slice(index * each, (index + 1) * each),
    title,
  }));
}

/** What a reader calls a link. */
function name(resolved: Resolved, place: Place, side: "forward" | "reverse" | null): string {
  const [first] = place.links;
  if (place.links.length !== 1 || first === undefined) {
    return place.title === "bottleneck"
      ? "all bottlenecks"
      : place.title === "link"
        ? "all links"
        : `all ${place.title}`;
  }
  const { a, b } = resolved.links[first];
  const [from, to] = side === "reverse" ? [b, a] : [a, b];
  const ends = `${resolved.nodes[from].name} ${side ? "→" : "–"} ${resolved.nodes[to].name}`;
  return place.title === "bottleneck" ? `bottleneck ${ends}` : ends;
}

/** Links and channels, the narrowest one that carries data first. */
export function choices(tree: Tree, parsed: Parsed): LinkChoice[] {
  const { resolved } = parsed;
  const all = routes(parsed);
  const over = (links: number[], side: "forward" | "reverse" | null): number[] => {
    const members = new Set(links);
    const crosses = (hop: Hop | null): boolean =>
      hop !== null && members.has(hop.link) && (side === null || side === hop.side);
    return [...all.keys()].filter((flow) => all[flow]?.some(crosses));
  };
  const found: LinkChoice[] = [];
  for (const place of places(tree, resolved)) {
    const [first] = place.links;
    if (first === undefined) continue;
    const link = resolved.links[first];
    const sides = link.forward === link.reverse ? [null] : (["forward", "reverse"] as const);
    for (const side of sides) {
      const one = direction(resolved, first, side ?? "forward");
      const label = `${name(resolved, place, side)}, ${one.trace ? "a trace" : quantity(one.rate_bps, RATE)}`;
      found.push({
        id: `${place.path.join(".")}${side ?? ""}`,
        label,
        kind: "link",
        path: place.path,
        side,
        resolved: one,
        rate: one.rate_bps,
        flows: over(place.links, side),
      });
    }
  }
  for (const [index, channel] of resolved.wifi.entries()) {
    const path: Path = Array.isArray(tree.wifi) ? ["wifi", index] : ["wifi"];
    const members = new Set(channel.stations.map((one: { node: string }) => one.node));
    const flows = [...parsed.paths.entries()].filter(([, path]) =>
      path.some((node) => members.has(resolved.nodes[node].name)),
    );
    found.push({
      id: path.join("."),
      label: `${channel.name} (${channel.phy})`,
      kind: "channel",
      path,
      side: null,
      resolved: channel,
      rate: channelRate(channel),
      flows: flows.map(([flow]) => flow),
    });
  }
  const used = (one: LinkChoice): number =>
    one.flows.length || resolved.flows.length === 0 ? one.rate : 1e15 + one.rate;
  return found.sort((left, right) => used(left) - used(right));
}

/** Where a field of a link stands: in the direction's own table if the text has it there, else in the link's. */
export function field(tree: Tree, choice: LinkChoice, key: string): Path {
  const own: Path = [...choice.path, choice.side ?? "forward", key];
  return choice.side && get(tree, own) !== undefined ? own : [...choice.path, key];
}

/** Whether a link's own table or the one of its direction gives a key. */
export function given(tree: Tree, path: Path): boolean {
  return get(tree, path) !== undefined;
}

/** A table at a path, empty if there is none. */
export function tableAt(tree: Tree, path: Path): Tree {
  const value = get(tree, path);
  return isTable(value) ? value : Object.create(null);
}
