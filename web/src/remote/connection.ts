/** The WebSocket to `narrows ui`: requests with answers, matched by numbers. */

import { type Problem, RunFailure } from "../engine/types";
import { decode, type Frame } from "./frames";

/** A request; `python/narrows/ui/frames.py` lists the kinds. */
export type Request =
  | { kind: "run"; toml: string; path: string; number: number }
  | { kind: "open"; name: string; number: number; arm: number }
  | { kind: "digest" }
  | { kind: "save"; toml: string; number: number; directory: string };

type Message =
  | { kind: "progress"; id: number; fraction: number }
  | { kind: "failed"; id: number | null; message: string; problems: Problem[]; stopped: boolean }
  | { kind: "answer"; id: number; value: string };

/** The parts of a WebSocket that are used. */
export type Socket = Pick<WebSocket, "send" | "readyState" | "binaryType"> & {
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
};

interface Pending {
  progress: (fraction: number) => void;
  resolve: (answer: Frame | string) => void;
  reject: (failure: RunFailure) => void;
}

const OPEN = 1;

/** What a request gets if there is no server any more. */
const GONE = "the server has ended; start `narrows ui` again, and open the address that it prints";

/** A connection that is opened with the first request, and again after it was lost. */
export class Connection {
  private socket: Socket | null = null;
  private readonly pending = new Map<number, Pending>();
  private queued: string[] = [];
  private next = 0;

  constructor(private readonly connect: () => Socket) {}

  /**
   * Sends a request.
   * @returns The results of a run, or a text.
   * @throws RunFailure
   */
  ask(request: Request, progress: (fraction: number) => void = () => {}): Promise<Frame | string> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { progress, resolve, reject });
      this.send(JSON.stringify({ id, ...request }));
    });
  }

  /** Stops the work under way; its request is then rejected. */
  stop(): void {
    if (this.pending.size) this.send(JSON.stringify({ kind: "stop" }));
  }

  private send(text: string): void {
    const socket = this.socket ?? this.open();
    if (socket.readyState === OPEN) socket.send(text);
    else this.queued.push(text);
  }

  private open(): Socket {
    const socket = this.connect();
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      for (const text of this.queued.splice(0)) socket.send(text);
    };
    socket.onmessage = ({ data }) => this.hear(data);
    socket.onclose = () => {
      this.socket = null;
      this.queued = [];
      this.rejectAll(GONE);
    };
    this.socket = socket;
    return socket;
  }

  private hear(data: unknown): void {
    let message: Message;
    try {
      if (data instanceof ArrayBuffer) {
        const frame = decode(data);
        this.take(frame.id)?.resolve(frame);
        return;
      }
      message = JSON.parse(String(data));
    } catch (error) {
      // Which request it answers is not known, and none of them may wait for ever.
      this.rejectAll(`the server's answer cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    if (message.id === null) return;
    switch (message.kind) {
      case "progress":
        this.pending.get(message.id)?.progress(message.fraction);
        break;
      case "answer":
        this.take(message.id)?.resolve(message.value);
        break;
      case "failed":
        this.take(message.id)?.reject(new RunFailure(message.message, message.problems, message.stopped));
        break;
    }
  }

  private rejectAll(why: string): void {
    const lost = [...this.pending.values()];
    this.pending.clear();
    for (const one of lost) one.reject(new RunFailure(why));
  }

  private take(id: number): Pending | undefined {
    const found = this.pending.get(id);
    this.pending.delete(id);
    return found;
  }
}
