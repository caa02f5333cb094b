/** Congestion controls to begin from. */

/** A text with the name under which it is first offered. */
export interface Example {
  name: string;
  label: string;
  source: string;
}

const RENO = `// Reno (RFC 5681) as in the engine: slow start, then a segment per round-trip time, and half after a loss.
// Windows are in bytes, times in seconds, rates in bit/s.
export default class Reno {
  static title = "Reno in JavaScript";

  counted = 0; // bytes acknowledged since congestion avoidance last grew the window (RFC 3465)

  on_ack(ack, path, win) {
    let acked = ack.acked;
    // A window that did not limit the sender says nothing about the path.
    if (acked === 0 || !path.cwnd_limited) return;
    if (win.in_slow_start) {
      const step = Math.min(acked, path.smss);
      const used = win.ssthresh === null ? step : Math.min(step, win.ssthresh - win.cwnd);
      win.cwnd += used;
      acked = step - used;
      if (acked === 0) return;
    }
    const per = Math.max(win.cwnd, path.smss);
    if (this.counted >= per) {
      this.counted = 0;
      win.cwnd += path.smss;
    }
    this.counted += acked;
    if (this.counted >= per) {
      win.cwnd += path.smss * Math.floor(this.counted / per);
      this.counted %= per;
    }
  }

  // Called once per window of data: event.kind is "loss", "ecn" or "timeout".
  on_congestion(event, path, win) {
    this.counted = 0;
    const half = Math.max(Math.floor(path.flightsize / 2), 2 * path.smss);
    if (event.kind === "timeout") {
      if (!event.repeated) win.ssthresh = half;
      win.cwnd = path.smss;
    } else {
      win.ssthresh = half;
      win.cwnd = Math.min(win.cwnd, half);
    }
  }
}
`;

const AIMD = `// Additive increase, multiplicative decrease, with both to choose (Chiu and Jain 1989).
// In a scenario: cc = "my_aimd", and tcp = { cc_params = { increase = 2, decrease = 0.7 } } of a flow.
export default class Aimd {
  static title = "Additive increase, multiplicative decrease";
  static params = {
    increase: [1, "Segments that a round-trip time adds."],
    decrease: [0.5, "Share of cwnd that is left after a loss."],
  };

  constructor({ increase, decrease }) {
    this.increase = increase;
    this.decrease = decrease;
  }

  on_ack(ack, path, win) {
    if (!path.cwnd_limited) return;
    if (win.in_slow_start) win.cwnd += ack.acked;
    else win.cwnd += (this.increase * path.smss * ack.acked) / win.cwnd;
  }

  on_congestion(event, path, win) {
    const kept = Math.max(this.decrease * win.cwnd, 2 * path.smss);
    if (!event.repeated) win.ssthresh = kept;
    win.cwnd = event.kind === "timeout" ? path.smss : kept;
  }
}
`;

const DELAY = `// Keeps a few segments in the queue, by the delay: the idea of Vegas (Brakmo and Peterson 1995).
export default class Delay {
  static title = "A window by the queueing delay";
  static params = { target: [4, "Segments that the flow keeps in the queue."] };

  constructor({ target }) {
    this.target = target;
  }

  on_start(path, win) {
    win.cwnd = path.initial_window;
  }

  on_ack(ack, path, win) {
    if (ack.rtt_s === null || path.min_rtt_s === null) return;
    // What is in flight beyond the bandwidth-delay product waits in the queue.
    const waiting = (win.cwnd * (1 - path.min_rtt_s / ack.rtt_s)) / path.smss;
    if (win.in_slow_start && waiting < this.target) {
      win.cwnd += ack.acked;
      return;
    }
    if (win.ssthresh === null) win.ssthresh = win.cwnd;
    // A segment per round-trip time, up or down.
    const step = (path.smss * ack.acked) / win.cwnd;
    if (waiting < this.target) win.cwnd += step;
    else if (waiting > this.target + 1) win.cwnd = Math.max(win.cwnd - step, 2 * path.smss);
  }

  on_congestion(event, path, win) {
    const kept = Math.max(win.cwnd / 2, 2 * path.smss);
    win.ssthresh = kept;
    win.cwnd = event.kind === "timeout" ? path.smss : kept;
  }
}
`;

/** The examples; the first one is there when the page opens. */
export const examples: [Example, ...Example[]] = [
  { name: "my_reno", label: "Reno, as in the engine", source: RENO },
  { name: "my_aimd", label: "AIMD with parameters", source: AIMD },
  { name: "my_delay", label: "A window by the delay", source: DELAY },
];
