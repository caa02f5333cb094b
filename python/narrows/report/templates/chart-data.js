"use strict";
// The numbers behind a figure of charts.js: a table that is made when it is opened, and CSV with every point that is
// drawn.
const chartData = (function () {
  const { element, written, csv, download } = pageBasics;
  const MOST_ROWS = 200; // rows of a table; of more points, every n-th

  function add(place, figure) {
    const box = element("details", "data noprint");
    const summary = element("summary", "", "Data");
    summary.setAttribute("aria-label", `Data: ${place.getAttribute("aria-label")}`);
    box.append(summary);
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) fill(box, place, figure); });
    place.after(box);
  }

  function fill(box, place, figure) {
    const tools = element("p");
    const save = element("button", "", "Download as CSV");
    save.type = "button";
    save.addEventListener("click", () => download(`${place.id.replace(/^plot-/, "")}.csv`, csv(rows(figure))));
    tools.append(save);
    box.append(tools);
    figure.panels.forEach((panel) => {
      let shown = table(figure, panel);
      box.append(shown);
      if (panel.sequence) panel.sequence.changed(() => { const other = table(figure, panel); shown.replaceWith(other); shown = other; });
    });
  }

  const at = (figure, panel, i) => (figure.ticks.length ? figure.ticks[panel.x[i]] ?? panel.x[i] : panel.x[i]);

  // The value of a line itself: stacked lines are kept as sums from the bottom, the topmost first.
  function value(panel, line, i) {
    const y = line.y[i];
    if (y === null || !panel.stacked) return y;
    const below = panel.lines[panel.lines.indexOf(line) + 1];
    return y - (below ? below.y[i] : 0);
  }

  // The first packets of the chosen flow; the file has all.
  function packetTable(panel) {
    const packets = panel.sequence.rows();
    const shown = packets.slice(0, MOST_ROWS);
    const told = shown.length < packets.length ? ` The first ${shown.length} of ${written(packets.length)}; the file has all.` : "";
    const made = element("table");
    made.append(element("caption", "", `Packets of ${panel.sequence.flow()}.${told}`));
    const head = element("tr");
    for (const text of ["Time (s)", "what", "from (bytes)", "to (bytes)", "note"]) { const cell = element("th", "", text); cell.scope = "col"; head.append(cell); }
    made.createTHead().append(head);
    const body = made.createTBody();
    for (const [time, what, low, high, note] of shown) {
      const row = element("tr");
      const first = element("th", "", time.toFixed(6));
      first.scope = "row";
      row.append(first, ...[what, low.toLocaleString("en"), high.toLocaleString("en"), note].map((text) => element("td", "", text)));
      body.append(row);
    }
    return framed(made, `Packets of ${panel.sequence.flow()}`);
  }

  function framed(made, name) {
    const frame = element("div", "scroll");
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", `Data: ${name}`);
    frame.append(made);
    return frame;
  }

  function table(figure, panel) {
    if (panel.sequence) return packetTable(panel);
    const lines = panel.lines;
    const filled = panel.x.map((_, i) => i).filter((i) => lines.some((line) => line.y[i] !== null));
    const step = Math.max(1, Math.ceil(filled.length / MOST_ROWS));
    const chosen = filled.filter((_, place) => place % step === 0);
    const made = element("table");
    const told = step > 1 ? ` 1 in ${step} of ${filled.length} points; the file has all.` : "";
    made.append(element("caption", "", `${[panel.title, panel.y_label].filter(Boolean).join(": ")}.${told}`));
    const head = element("tr");
    const heads = [figure.x_label, ...lines.flatMap((line) => (line.low ? [line.name, "low", "high"] : [line.name]))];
    heads.forEach((text) => { const cell = element("th", "", text); cell.scope = "col"; head.append(cell); });
    made.createTHead().append(head);
    const body = made.createTBody();
    for (const i of chosen) {
      const row = element("tr");
      const first = element("th", "", typeof at(figure, panel, i) === "number" ? written(at(figure, panel, i)) : at(figure, panel, i));
      first.scope = "row";
      row.append(first);
      for (const line of lines) {
        row.append(element("td", "", written(value(panel, line, i))));
        if (line.low) row.append(element("td", "", written(line.low[i])), element("td", "", written(line.high[i])));
      }
      body.append(row);
    }
    return framed(made, [panel.title, panel.y_label].filter(Boolean).join(": "));
  }

  // Every point that is drawn, a row each; of a time-sequence graph every packet.
  function rows(figure) {
    const packets = figure.panels.find((panel) => panel.sequence);
    if (packets) return [["time_s", "what", "from_bytes", "to_bytes", "note"], ...packets.sequence.rows()];
    const made = [["panel", "line", figure.x_label, "quantity", "value", "low", "high"]];
    for (const panel of figure.panels) {
      for (const line of panel.lines) {
        line.y.forEach((y, i) => {
          if (y === null) return;
          const band = line.low ? [line.low[i] ?? "", line.high[i] ?? ""] : ["", ""];
          made.push([panel.title, line.name, at(figure, panel, i), panel.y_label, value(panel, line, i), ...band]);
        });
      }
    }
    return made;
  }

  return { add };
})();
