/** Runs scenarios by the native engine of `narrows ui`, and in the browser what only the browser can do. */

import { signal } from "@preact/signals";
import type { Backend, RunData, RunRequest } from "../engine/types";
import type { Connection } from "./connection";
import type { Frame, Recorded } from "./frames";

/** Where the last run was made, or that its results were read. */
export type Place = "server" | "browser" | "recorded";

/** Results of directories that stay at hand: one for each arm, and the last ones before them. */
const MOST_RECORDED = 4;

/**
 * A server on this machine, with the browser's worker beside it.
 *
 * The worker runs scenarios with a control that is written on the page, and those whose packets are logged, which the
 * native engine does not offer. A run whose packets would not fit into a log is the server's, and has no log. Both give
 * the same results. Texts whose results were read from a directory are not run.
 */
export class ServerBackend implements Backend {
  /** Where the last run was made; null before the first. */
  readonly place = signal<Place | null>(null);
  /** Every so many samples of the last run were kept; 1 if all were. */
  readonly step = signal(1);
  private readonly recorded = new Map<string, Pick<Frame, "data" | "step">>();

  constructor(
    private readonly connection: Connection,
    private readonly browser: Backend,
    /** Whether the packets of a scenario fit into a log. */
    private readonly fits: (toml: string) => boolean,
  ) {}

  async run(request: RunRequest, progress: (fraction: number) => void): Promise<RunData> {
    this.stop();
    const read = this.recorded.get(request.toml);
    if (read) {
      this.place.value = "recorded";
      this.step.value = read.step;
      return read.data;
    }
    if (request.own.length > 0 || (request.packets && this.fits(request.toml))) {
      this.place.value = "browser";
      this.step.value = 1;
      return this.browser.run(request, progress);
    }
    this.place.value = "server";
    const { toml, path, number } = request;
    const frame = (await this.connection.ask({ kind: "run", toml, path, number }, progress)) as Frame;
    this.step.value = frame.step;
    return frame.data;
  }

  has(request: RunRequest): boolean {
    return this.recorded.has(request.toml);
  }

  stop(): void {
    this.connection.stop();
    this.browser.stop();
  }

  async digest(): Promise<string> {
    if (this.place.peek() === "browser") return this.browser.digest();
    if (this.place.peek() === "recorded") return "";
    return (await this.connection.ask({ kind: "digest" })) as string;
  }

  /**
   * Reads results of a directory. A request for a run of the returned text then has them.
   * @throws RunFailure
   */
  async open(name: string, number = 0, arm = 0): Promise<Recorded> {
    const frame = (await this.connection.ask({ kind: "open", name, number, arm })) as Frame;
    const recorded = frame.recorded as Recorded;
    this.recorded.delete(recorded.toml);
    this.recorded.set(recorded.toml, { data: frame.data, step: frame.step });
    for (const text of [...this.recorded.keys()].slice(0, -MOST_RECORDED)) this.recorded.delete(text);
    return recorded;
  }

  /**
   * Writes the results of a text's run into a directory, as `narrows run -o` does.
   * @returns The directory.
   * @throws RunFailure
   */
  async save(toml: string, directory: string): Promise<string> {
    return (await this.connection.ask({ kind: "save", toml, number: 0, directory })) as string;
  }
}
