"use strict";
// Draws the time-sequence graph of TCP flows into a panel of charts.js, from the packets that narrows/report/sequence.py
// packs: segments as bars, ACKs and the receiver's window as steps, SACK blocks, losses, marks.
const drawSequence = (function () {
  const [LOST, CE, CWR, SYN, FIN, RETRANSMITTED] = [1, 2, 4, 8, 16, 32];
  const [DUPLICATE, ECHO] = [1, 2];
  const MOST_LABELS = 60; // letters that still can be told apart
  const NEAR = 14; // px from the pointer within which a packet is told
  const whole = (value) => Math.round(value).toLocaleString("en");

  // Columns are differences in planes of bytes, deflated.
  async function unpacked(flow) {
    const bytes = Uint8Array.from(atob(flow.packed), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const data = new Uint8Array(await new Response(stream).arrayBuffer());
    let at = 0;
    const column = (count) => {
      const made = new Float64Array(count);
      let sum = 0;
      for (let i = 0; i < count; i++) {
        sum += data[at + i] | data[at + count + i] << 8 | data[at + 2 * count + i] << 16 | data[at + 3 * count + i] << 24;
        made[i] = sum;
      }
      at += 4 * count;
      return made;
    };
    const [sent, acks, blocks, losses] = flow.counts;
    const made = {
      t: column(sent), seq: column(sent), length: column(sent), flags: column(sent),
      at: column(acks), ack: column(acks), window: column(acks), kinds: column(acks),
      of: column(blocks), left: column(blocks), width: column(blocks), again: column(blocks),
      lost: column(losses), after: column(losses), why: column(losses),
    };
    let end = 0;
    for (let i = 0; i < sent; i++) {
      made.t[i] *= flow.unit;
      made.seq[i] += end;
      end = made.seq[i] + made.length[i];
    }
    for (let i = 0; i < acks; i++) made.at[i] *= flow.unit;
    made.fates = new Map();
    for (let i = 0; i < losses; i++) made.fates.set(made.lost[i], { reason: flow.reasons[made.why[i]], after: made.after[i] < 0 ? null : made.after[i] * flow.unit });
    return made;
  }

  // The first place in sorted numbers whose value is not below the wanted one.
  function from(numbers, wanted) {
    let [low, high] = [0, numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return function (panel, tools) {
    const { css, hidden, span } = tools;
    const colour = Object.fromEntries(panel.lines.map((line) => [line.name, line.colour]));
    const shown = (name) => !hidden.has(name);
    const listeners = [];
    let packets = null;
    let chosen = 0;

    async function choose(place) {
      packets = await unpacked(panel.flows[place]);
      chosen = place;
      panel.x = Array.from(packets.t);
      listeners.forEach((listener) => listener());
      return packets;
    }

    // All packets in order of time: when, what, from, to, and what else there is to know.
    function rows() {
      if (!packets) return [];
      const made = [];
      for (let i = 0; i < packets.t.length; i++) {
        const [[what], ...notes] = segment(i);
        const flags = packets.flags[i];
        const words = [flags & SYN ? "SYN" : "", flags & FIN ? "FIN" : "", flags & CWR ? "CWR" : "", ...notes.map(([name, text]) => (name === "lost" ? `lost: ${text}` : text))];
        made.push([packets.t[i], what, packets.seq[i], packets.seq[i] + packets.length[i], words.filter(Boolean).join("; ")]);
      }
      for (let i = 0; i < packets.at.length; i++) {
        const note = [packets.kinds[i] & DUPLICATE ? "duplicate" : "", packets.kinds[i] & ECHO ? "echoes a mark" : "", `window to ${packets.ack[i] + packets.window[i]}`];
        made.push([packets.at[i], "ACK", packets.ack[i], packets.ack[i], note.filter(Boolean).join("; ")]);
      }
      for (let k = 0; k < packets.of.length; k++) {
        const left = packets.ack[packets.of[k]] + packets.left[k];
        made.push([packets.at[packets.of[k]], "SACK block", left, left + packets.width[k], packets.again[k] ? "arrived twice" : ""]);
      }
      return made.sort((a, b) => a[0] - b[0]);
    }

    // The part of the sequence numbers that is drawn: segments and ACKs of the stretch, and the window if it is near.
    function range() {
      if (!packets || !packets.t.length) return [0, 1];
      const [begin, end] = span();
      let [low, high, edge] = [Infinity, -Infinity, -Infinity];
      for (let i = from(packets.t, begin); i < packets.t.length && packets.t[i] <= end; i++) {
        low = Math.min(low, packets.seq[i]);
        high = Math.max(high, packets.seq[i] + packets.length[i]);
      }
      for (let i = Math.max(0, from(packets.at, begin) - 1); i < packets.at.length && packets.at[i] <= end; i++) {
        low = Math.min(low, packets.ack[i]);
        high = Math.max(high, packets.ack[i]);
        edge = Math.max(edge, packets.ack[i] + packets.window[i]);
      }
      if (low > high) return [0, 1];
      if (shown("receiver's window") && edge - low < 1.6 * (high - low)) high = Math.max(high, edge);
      const room = 0.06 * (high - low) || 1;
      return [low - (low > 0 ? room : 0), high + room];
    }

    function draw(u) {
      if (!packets) return;
      const { left, top, width, height } = u.bbox;
      const ratio = devicePixelRatio;
      const [xMin, xMax, yMin, yMax] = [u.scales.x.min, u.scales.x.max, u.scales.y.min, u.scales.y.max];
      const px = (t) => left + (t - xMin) / (xMax - xMin) * width;
      const py = (n) => top + (1 - (n - yMin) / (yMax - yMin)) * height;
      const ctx = u.ctx;
      const sent = [from(packets.t, xMin), from(packets.t, xMax)];
      const came = [Math.max(0, from(packets.at, xMin) - 1), from(packets.at, xMax)];
      const few = sent[1] - sent[0] <= MOST_LABELS * 5;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, height);
      ctx.clip();
      ctx.setLineDash([]);
      ctx.lineWidth = ratio;
      const step = (value) => {
        ctx.beginPath();
        for (let i = came[0]; i < came[1]; i++) {
          const [x, y] = [px(packets.at[i]), py(value(i))];
          if (i > came[0]) ctx.lineTo(x, py(value(i - 1)));
          ctx.lineTo(x, y);
        }
        if (came[1] > came[0]) ctx.lineTo(Math.min(left + width, came[1] < packets.at.length ? px(packets.at[came[1]]) : left + width), py(value(came[1] - 1)));
        ctx.stroke();
      };
      if (shown("receiver's window")) {
        ctx.strokeStyle = colour["receiver's window"];
        step((i) => packets.ack[i] + packets.window[i]);
      }
      if (shown("ACK")) {
        ctx.strokeStyle = colour.ACK;
        step((i) => packets.ack[i]);
        if (few) duplicates(ctx, px, py, came, ratio);
      }
      if (shown("SACK block")) {
        ctx.strokeStyle = colour["SACK block"];
        ctx.lineWidth = (few ? 2 : 1) * ratio;
        bars(ctx, from(packets.of, came[0]), from(packets.of, came[1]), (k) => {
          const base = packets.ack[packets.of[k]] + packets.left[k];
          return [px(packets.at[packets.of[k]]), py(base), py(base + packets.width[k])];
        });
        ctx.lineWidth = ratio;
      }
      const segments = (again) => {
        const name = again ? "retransmission" : "segment";
        if (!shown(name)) return;
        ctx.strokeStyle = colour[name];
        ctx.lineWidth = (again || few ? 2 : 1.4) * ratio;
        bars(ctx, sent[0], sent[1], (i) => Boolean(packets.flags[i] & RETRANSMITTED) === again && [px(packets.t[i]), py(packets.seq[i]), py(packets.seq[i] + packets.length[i])]);
      };
      segments(false);
      segments(true);
      labels(ctx, px, py, sent, came, ratio);
      ctx.restore();
      heading(u, ratio);
    }

    // Vertical bars; those of one column of pixels that follow each other are one.
    function bars(ctx, first, last, place) {
      const thin = 2 * devicePixelRatio; // the shortest bar that is seen
      ctx.beginPath();
      let [column, low, high] = [null, 0, 0];
      for (let i = first; i < last; i++) {
        const found = place(i);
        if (!found) continue;
        const [x, y0, y1] = [Math.round(found[0]), found[1], found[2]];
        if (x === column && Math.abs(y0 - high) < 1) { high = y1; continue; }
        if (column !== null) { ctx.moveTo(column, low); ctx.lineTo(column, Math.min(high, low - thin)); }
        [column, low, high] = [x, y0, y1];
      }
      if (column !== null) { ctx.moveTo(column, low); ctx.lineTo(column, Math.min(high, low - thin)); }
      ctx.stroke();
    }

    // A tick for each duplicate ACK, as tcptrace has them.
    function duplicates(ctx, px, py, came, ratio) {
      ctx.beginPath();
      for (let i = came[0]; i < came[1]; i++) {
        if (!(packets.kinds[i] & DUPLICATE)) continue;
        const [x, y] = [px(packets.at[i]), py(packets.ack[i])];
        ctx.moveTo(x, y);
        ctx.lineTo(x, y + 5 * ratio);
      }
      ctx.stroke();
    }

    function labels(ctx, px, py, sent, came, ratio) {
      ctx.font = `600 ${10 * ratio}px ${css("--sans")}`;
      ctx.textAlign = "center";
      const wanted = [];
      for (let i = sent[0]; i < sent[1]; i++) if (packets.flags[i]) wanted.push(i);
      const again = wanted.filter((i) => packets.flags[i] & RETRANSMITTED);
      const letter = (i, text, name) => {
        ctx.fillStyle = colour[name];
        ctx.fillText(text, px(packets.t[i]), py(packets.seq[i] + packets.length[i]) - 4 * ratio);
      };
      if (shown("retransmission") && again.length <= MOST_LABELS) again.forEach((i) => letter(i, "R", "retransmission"));
      if (shown("ECN mark or echo")) {
        const cut = wanted.filter((i) => packets.flags[i] & CWR);
        if (cut.length <= MOST_LABELS) cut.forEach((i) => letter(i, "C", "ECN mark or echo"));
        ctx.fillStyle = colour["ECN mark or echo"];
        for (const i of wanted) if (packets.flags[i] & CE) diamond(ctx, px(packets.t[i]), py(packets.seq[i] + packets.length[i] / 2), 4 * ratio);
        for (let i = came[0]; i < came[1]; i++) if (packets.kinds[i] & ECHO) diamond(ctx, px(packets.at[i]), py(packets.ack[i]), 3 * ratio);
      }
      for (const i of wanted) if (packets.flags[i] & (SYN | FIN)) letter(i, packets.flags[i] & SYN ? "S" : "F", "segment");
      if (!shown("lost")) return;
      ctx.strokeStyle = colour.lost;
      ctx.lineWidth = 1.5 * ratio;
      ctx.beginPath();
      for (const i of wanted) {
        if (!(packets.flags[i] & LOST)) continue;
        const [x, y, size] = [px(packets.t[i]), py(packets.seq[i] + packets.length[i] / 2), 4 * ratio];
        ctx.moveTo(x - size, y - size); ctx.lineTo(x + size, y + size);
        ctx.moveTo(x - size, y + size); ctx.lineTo(x + size, y - size);
      }
      ctx.stroke();
    }

    function diamond(ctx, x, y, size) {
      ctx.beginPath();
      ctx.moveTo(x, y - size); ctx.lineTo(x + size, y); ctx.lineTo(x, y + size); ctx.lineTo(x - size, y);
      ctx.fill();
    }

    // Names the axis, whose numbers leave no room beside it, and says where the receiver's window is if the picture does
    // not reach it.
    function heading(u, ratio) {
      const last = from(packets.at, u.scales.x.max) - 1;
      const edge = last < 0 || !shown("receiver's window") ? -Infinity : packets.ack[last] + packets.window[last];
      u.ctx.save();
      u.ctx.fillStyle = css("--muted");
      u.ctx.textAlign = "left";
      const [left, top] = [u.bbox.left + 8 * ratio, u.bbox.top + 13 * ratio];
      u.ctx.font = `${12 * ratio}px ${css("--sans")}`;
      u.ctx.fillText(panel.y_label, left, top);
      u.ctx.font = `${11 * ratio}px ${css("--sans")}`;
      if (edge > u.scales.y.max) u.ctx.fillText(`↑ receiver's window: to ${whole(edge)}`, left, top + 16 * ratio);
      u.ctx.restore();
    }

    // What is at the pointer, or of the keyboard's segment: a title, and rows of words and values.
    function told(u, keyboard) {
      if (!packets || !packets.t.length) return null;
      const time = u.posToVal(u.cursor.left, "x");
      const ack = from(packets.at, time + 1e-12) - 1;
      const at = keyboard ? nearest(packets.t, time) : pointed(u);
      const rows = [];
      let when = time;
      if (at !== null) {
        when = packets.t[at];
        rows.push(...segment(at));
      }
      if (ack >= 0) rows.push(...answer(ack, when));
      return { title: `Time ${when.toFixed(6)} s`, rows };
    }

    function nearest(numbers, wanted) {
      const at = Math.min(from(numbers, wanted), numbers.length - 1);
      return at > 0 && wanted - numbers[at - 1] < numbers[at] - wanted ? at - 1 : at;
    }

    function pointed(u) {
      const [left, top] = [u.cursor.left, u.cursor.top];
      let [best, distance] = [null, NEAR];
      const begin = from(packets.t, u.posToVal(left - NEAR, "x"));
      for (let i = begin; i < packets.t.length; i++) {
        const x = u.valToPos(packets.t[i], "x") - left;
        if (x > NEAR) break;
        const [high, low] = [u.valToPos(packets.seq[i] + packets.length[i], "y"), u.valToPos(packets.seq[i], "y")];
        const y = top < high ? high - top : top > low ? top - low : 0;
        const away = Math.hypot(x, y);
        if (away < distance) [best, distance] = [i, away];
      }
      return best;
    }

    function segment(i) {
      const flags = packets.flags[i];
      const name = flags & RETRANSMITTED ? "retransmission" : "segment";
      const [seq, length] = [packets.seq[i], packets.length[i]];
      const words = [flags & SYN ? "SYN" : "", flags & FIN ? "FIN" : "", flags & CWR ? "CWR" : ""].filter(Boolean).join(" ");
      const rows = [[name, length ? `${whole(seq)} to ${whole(seq + length)} (${whole(length)} bytes) ${words}` : `${whole(seq)} ${words}`]];
      if (flags & CE) rows.push(["ECN mark or echo", "marked CE on the way"]);
      if (flags & LOST) {
        const fate = packets.fates.get(i);
        rows.push(["lost", fate.reason + (fate.after === null ? "" : `, ${(fate.after * 1e3).toFixed(3)} ms later`)]);
      }
      return rows;
    }

    function answer(i, when) {
      const kinds = packets.kinds[i];
      const words = [kinds & DUPLICATE ? "duplicate" : "", kinds & ECHO ? "echoes a mark" : ""].filter(Boolean).join(", ");
      const ago = Math.max(0, when - packets.at[i]);
      const rows = [
        ["ACK", `${whole(packets.ack[i])}${words ? `, ${words}` : ""}, ${(ago * 1e3).toFixed(3)} ms before`],
        ["receiver's window", `${whole(packets.window[i])} bytes, to ${whole(packets.ack[i] + packets.window[i])}`],
      ];
      for (let k = from(packets.of, i); k < packets.of.length && packets.of[k] === i; k++) {
        const left = packets.ack[i] + packets.left[k];
        rows.push(["SACK block", `${whole(left)} to ${whole(left + packets.width[k])}${packets.again[k] ? ", arrived twice" : ""}`]);
      }
      return rows;
    }

    return { choose, range, draw, told, rows, colour, packets: () => packets, flow: () => panel.flows[chosen].name, changed: (listener) => listeners.push(listener) };
  };
})();
