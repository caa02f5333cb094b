/** What the engine takes and gives: the protocol between the page and whatever runs scenarios. */

/** A fault of a scenario's text, as the command line reports it. */
export interface Problem {
  /** Name of the text. */
  path: string;
  /** Line, from 1; null if the problem has none. */
  line: number | null;
  /** Path of the field, such as `flows[0].cc`. */
  field: string;
  /** The value that is wrong, as text. */
  value: string;
  /** What is allowed. */
  allowed: string;
  /** The whole problem as a sentence. */
  message: string;
}

/** Counts of a scenario's parts, and of the rows that sampling will yield. */
export interface Size {
  nodes: number;
  links: number;
  flows: number;
  flow_rows: number;
  queue_rows: number;
  router_rows: number;
  state_rows: number;
}

/** A valid scenario. */
export interface Parsed {
  name: string;
  /** Simulated time, s. */
  duration: number;
  seed: bigint;
  size: Size;
  /** The resolved scenario (nodes, links, flows, channels): the JSON of `narrows show --json`. */
  resolved: Resolved;
  /** For each flow, the nodes that its packets pass, both ends included. */
  paths: number[][];
  warnings: Problem[];
}

/** The resolved scenario as JSON; only what the page reads is declared. Rates are in bit/s, times in ns. */
// biome-ignore lint/suspicious/noExplicitAny: the format is the engine's, described by its JSON Schema
export type Resolved = Record<string, any>;

/** What parsing gives. */
export type ParseResult = { ok: true; scenario: Parsed } | { ok: false; problems: Problem[] };

/** A parameter of a control of the user's: a number or a switch, with its default. */
export interface OwnParam {
  name: string;
  doc: string;
  value: number | boolean;
}

/** A congestion control of the user's, as the scenario's parser knows it. */
export interface OwnRow {
  name: string;
  title: string;
  params: OwnParam[];
}

/** A congestion control of the user's with its JavaScript. */
export interface Own extends OwnRow {
  /** Text of an ECMAScript module whose default export is the class. */
  source: string;
}

/** A run that is asked for. */
export interface RunRequest {
  toml: string;
  /** Name of the text in problems. */
  path: string;
  /** Number of the run: runs of one scenario differ by it. */
  number: number;
  /** Whether every packet is logged, for the animation and the time-sequence graph. */
  packets: boolean;
  own: Own[];
  /** Whether calls of the user's control are kept, for stepping through them. */
  calls: boolean;
}

/** A column of a table. */
export interface Column {
  name: string;
  unit: string;
  doc: string;
  /** Values; NaN is "no value". */
  values: Float64Array;
}

/** A table of a run: the same tables and columns as `narrows.Run.samples` and the files of a result. */
export interface Table {
  name: string;
  rows: number;
  columns: Record<string, Column>;
}

/** A series of the table `state`: a variable of a congestion control or a queue discipline. */
export interface Series {
  owner: string;
  index: number;
  algorithm: string;
  variable: string;
  unit: string;
  doc: string;
  /** Words for the values 0, 1, 2 ...; empty for a number. */
  words: string[];
}

/** Names by kind, in the order of the tables' indices. */
export interface Names {
  flows: string[];
  queues: string[];
  routers: string[];
  stations: string[];
  channels: string[];
  workloads: string[];
  subqueues: [number, number, string][];
}

/** Every packet of a run, as columns of equal length: a row when a transmission starts, and one for each loss. */
export interface PacketLog {
  /** Words that `what` indexes: departed, dropped, corrupted, frame. */
  words: string[];
  /** When the transmission starts, or the packet is lost, ns. */
  time_ns: Float64Array;
  /** Index of the direction: link `edge >> 1`, forward if even. Of a frame: the channel. */
  edge: Uint32Array;
  what: Uint8Array;
  flow: Uint32Array;
  /** 1 if it travels from the flow's `from` to its `to`. */
  along: Uint8Array;
  /** Bytes of the IP packet. */
  bytes: Uint32Array;
  payload: Uint32Array;
  seq: Uint32Array;
  ack: Uint32Array;
  window: Uint32Array;
  /** FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256. */
  flags: Uint16Array;
  /** ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE. */
  ecn: Uint8Array;
  /** The same on every link that a packet crosses. */
  identity: Uint32Array;
  /** Of a frame: airtime, sender, receiver (stations), kind (0 RTS, 1 CTS, 2 data, 3 ACK). */
  airtime_ns: Float64Array;
  sender: Uint16Array;
  receiver: Uint16Array;
  kind: Uint8Array;
  /** SACK blocks: the row that carries each, and its edges. */
  sack_row: Uint32Array;
  sack_left: Uint32Array;
  sack_right: Uint32Array;
  /** Packets that did not fit. */
  left_out: number;
}

/** A call of a hook of the user's control. */
export interface Call {
  /** Number of the object: two flows have two. */
  object: number;
  hook: string;
  /** Values by name, as the hook got them; NaN is "no value". */
  before: Record<string, number>;
  /** cwnd, ssthresh and pacing_rate after the call. */
  after: [number, number, number];
}

/** What a run yields. */
export interface RunData {
  events: number;
  packets: number;
  names: Names;
  tables: Record<string, Table>;
  series: Series[];
  log: PacketLog | null;
  /** Calls of the user's control, at most `MOST_CALLS`. */
  calls: Call[];
  /** Time that the run took, ms; 0 for results that were read. */
  took_ms: number;
}

/** Why a run has no result. */
export class RunFailure extends Error {
  constructor(
    message: string,
    /** Problems of the scenario, if it was refused. */
    readonly problems: Problem[] = [],
    /** Whether the user stopped the run. */
    readonly stopped = false,
  ) {
    super(message);
  }
}

/** Something that runs scenarios: a worker of the page, or a server on this machine. */
export interface Backend {
  /**
   * Runs a scenario. A run that is under way is stopped.
   * @throws RunFailure
   */
  run(request: RunRequest, progress: (fraction: number) => void): Promise<RunData>;
  /** Whether it has the results of a request, so that no run is needed. */
  has?(request: RunRequest): boolean;
  /** Stops the run that is under way; its promise is rejected. */
  stop(): void;
  /** SHA-256 of the samples of the last run. */
  digest(): Promise<string>;
}
