"use strict";
// Draws the figures of a page with uPlot, from the descriptions that narrows/report/interactive.py writes. All figures
// over time show the same stretch of it, and the same lines: what is chosen in one holds in all.
(function () {
  const { css, element, written, scale, unit, titled } = pageBasics;
  const { mixed, under, over } = chartCanvas;
  const MOST_ROWS = 12; // lines that a tip lists; 12 fit beside the smallest panel
  const PICKER_FROM = 9; // entries of a legend from which it can be searched
  const charts = [];
  const hidden = new Set(); // names of lines that are switched off, on the whole page
  let stretch = null; // the stretch of time that is shown; null is all of it
  const tip = element("div", "tip");
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);

  function series(panel) {
    const data = [panel.x];
    const list = [{}];
    const bands = [];
    panel.lines.forEach((line) => {
      const shown = !hidden.has(line.name);
      const paths = line.symbol ? () => null : line.step ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
      const common = { show: shown, paths: paths, points: { show: false }, spanGaps: false };
      const dots = line.dots ? { points: { show: true, size: 5, width: 0, fill: line.colour } } : {};
      if (line.low && !line.symbol) {
        bands.push({ series: [list.length, list.length + 1], fill: line.colour + "29" });
        for (const edge of [line.high, line.low]) {
          data.push(edge);
          list.push(Object.assign({ of: line, edge: true, width: 0, stroke: line.colour }, common));
        }
      }
      data.push(line.y);
      list.push(Object.assign({
        of: line, width: line.width, stroke: line.colour, dash: line.dash,
        fill: panel.stacked ? mixed(line.colour) : undefined,
      }, common, dots));
    });
    // The packets' own numbers give the axis its range; sequence.js draws them.
    if (panel.flows) {
      data.push(panel.x.map(() => 0));
      list.push({ width: 0, paths: () => null, points: { show: false } });
    }
    return { data, list, bands };
  }

  function axes(figure, panel, last) {
    const common = { stroke: () => css("--muted"), ticks: { stroke: () => css("--line"), size: 4 }, font: `12px ${css("--sans")}` };
    const x = Object.assign({}, common, {
      grid: { show: false }, size: last ? 30 : 8, label: last ? figure.x_label : undefined, labelSize: 20, labelGap: 0, labelFont: common.font,
      border: { show: true, stroke: () => css("--line"), width: 1 },
    });
    if (figure.ticks.length) {
      x.splits = () => figure.ticks.map((_, i) => i);
      x.values = (u, places) => (last ? places.map((i) => figure.ticks[i]) : places.map(() => ""));
      x.size = last ? 30 + 14 * Math.max(0, ...figure.ticks.map((tick) => tick.split("\n").length - 1)) : 8;
      if (figure.rotate && last) [x.rotate, x.size] = figure.rotate; // degrees, and the room for it in px
    } else {
      if (figure.splits) [x.splits, x.filter] = [figure.splits, (u, places) => places];
      x.values = (u, places) => places.map((place) => (last && place !== null ? (figure.x_log || figure.splits ? written : scale(places))(place) : ""));
    }
    const y = Object.assign({}, common, {
      grid: { stroke: () => css("--rule"), width: 1 }, size: panel.flows ? 84 : 64, label: panel.flows ? undefined : panel.y_label, labelSize: 20, labelFont: common.font,
      values: (u, places) => places.map(written), border: { show: true, stroke: () => css("--line"), width: 1 },
    });
    return [x, y];
  }

  function whole(figure) {
    if (figure.ticks.length) return [-0.6, figure.ticks.length - 0.4];
    if (figure.x_range) return figure.x_range;
    const all = figure.panels.flatMap((panel) => [panel.x[0], panel.x[panel.x.length - 1]]).filter((x) => x !== undefined);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    return figure.x_log || low === high ? [low * 0.9, high * 1.1 || 1] : [low - 0.01 * (high - low), high + 0.01 * (high - low)];
  }

  function drawn(place, figure, panel, index, file) {
    const { data, list, bands } = series(panel);
    const last = index === figure.panels.length - 1;
    const box = element("div", "panel");
    box.tabIndex = 0;
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", [panel.title, panel.y_label].filter(Boolean).join(": ") + described(panel));
    box.title = "";
    if (panel.title) box.append(element("b", "panel-title", panel.title));
    place.append(box);
    const range = () => (figure.over_time && stretch) || file.range || file.whole;
    const sequence = panel.flows ? drawSequence(panel, { css, hidden, span: range }) : null;
    const options = {
      width: place.clientWidth || 640, height: figure.height + (last ? 50 + Math.max(0, (figure.rotate ? figure.rotate[1] : 30) - 30) : 8), series: list, bands: bands, legend: { show: false },
      scales: {
        x: { time: false, distr: figure.x_log ? 3 : 1, range: range },
        y: { range: (u, low, high) => (sequence ? sequence.range() : panel.y_range || [Math.min(0, low || 0), high || 1]) },
      },
      axes: axes(figure, panel, last),
      cursor: {
        x: true, y: false, points: { size: 6 },
        drag: { x: true, y: false, setScale: false },
        focus: { prox: 12 },
        sync: figure.over_time ? { key: "time", scales: ["x", null], setSeries: false } : undefined,
      },
      hooks: {
        drawClear: [under(figure, panel)], draw: sequence ? [sequence.draw] : [over(figure, panel, index === 0, hidden)],
        setCursor: [(u) => (sequence ? pointed(u, sequence, box) : told(u, figure, panel, box))],
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          show(figure, file, [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
      padding: [8, figure.splits ? 22 : 10, 0, 0],
    };
    const plot = new uPlot(options, data, box);
    if (sequence) {
      panel.sequence = sequence;
      flows(box, plot, panel, sequence);
    }
    plot.over.addEventListener("dblclick", () => show(figure, file, null));
    plot.over.addEventListener("mouseleave", () => { tip.hidden = true; });
    box.addEventListener("keydown", (event) => keyed(event, plot, figure, panel, file));
    box.addEventListener("blur", () => { tip.hidden = true; });
    return { plot, box };
  }

  // Shows the packets of one flow, which is chosen above the panel if there are several.
  function flows(box, plot, panel, sequence) {
    const note = element("p", "flow-note");
    const shown = async (place) => {
      await sequence.choose(place);
      note.textContent = panel.flows[place].note;
      plot.setData(series(panel).data);
    };
    box.after(note);
    if (panel.flows.length > 1) {
      const label = element("label", "flow-choice", "Flow ");
      const choice = element("select");
      panel.flows.forEach((flow, place) => choice.append(new Option(flow.name, place)));
      choice.addEventListener("change", () => shown(Number(choice.value)));
      label.append(choice);
      box.before(label);
    }
    shown(0);
  }

  // The tip of a time-sequence graph: the segment at the pointer, and the ACK before it.
  function pointed(u, sequence, box) {
    const hovered = box.matches(":hover");
    if (!hovered && document.activeElement !== box) return;
    const found = u.cursor.left < 0 ? null : sequence.told(u, !hovered);
    tip.hidden = !found;
    if (!found) return;
    const table = element("table");
    for (const [name, value] of found.rows) {
      const row = element("tr");
      const cell = element("td");
      const key = element("span", "swatch");
      key.style.background = sequence.colour[name];
      cell.append(key, name);
      row.append(cell, element("td", "", value));
      table.append(row);
    }
    tip.replaceChildren(element("div", "tip-x", found.title), table);
    beside(u);
  }

  function described(panel) {
    const names = panel.lines.filter((line) => line.y.some((y) => y !== null)).slice(0, 6).map((line) => {
      const values = line.y.filter((y) => y !== null);
      return `${line.name} from ${written(Math.min(...values))} to ${written(Math.max(...values))}`;
    });
    const more = panel.lines.length > names.length ? `, and ${panel.lines.length - names.length} more` : "";
    return names.length ? `; ${names.join(", ")}${more}. Arrow keys read values.` : "";
  }

  // The tip beside the pointer: the place on the axis, and each line's value with unit and band.
  function told(u, figure, panel, box) {
    const i = u.cursor.idx;
    const over = box.matches(":hover") || document.activeElement === box;
    if (!over) return;
    if (i === null || i === undefined || u.cursor.left < 0) { tip.hidden = true; return; }
    const rows = panel.lines.map((line) => ({ line, y: line.y[i] })).filter((row) => row.y !== null && row.y !== undefined && !hidden.has(row.line.name));
    if (!rows.length) { tip.hidden = true; return; }
    if (panel.stacked) rows.forEach((row, at) => { const below = rows[at + 1]; row.y = row.y - (below ? below.line.y[i] : 0); });
    else rows.sort((a, b) => b.y - a.y);
    const x = figure.ticks.length ? figure.ticks[panel.x[i]] : `${written(panel.x[i])} ${unit(figure.x_label)}`;
    tip.replaceChildren(element("div", "tip-x", figure.ticks.length ? x : `${titled(figure.x_label)} ${x}`));
    const table = element("table");
    for (const { line, y } of rows.slice(0, MOST_ROWS)) {
      const row = element("tr");
      const name = element("td");
      const key = element("span", "swatch");
      key.style.background = line.colour;
      name.append(key, line.name);
      const band = line.low && line.low[i] !== null ? `${written(line.low[i])} to ${written(line.high[i])}` : "";
      row.append(name, element("td", "", `${written(y)} ${unit(panel.y_label)}`), element("td", "pm", band));
      if (line.runs) row.append(element("td", "pm", `${line.runs[i]} run${line.runs[i] === 1 ? "" : "s"}`));
      table.append(row);
    }
    tip.append(table);
    if (rows.length > MOST_ROWS) tip.append(element("div", "pm", `and ${rows.length - MOST_ROWS} more`));
    if (figure.note) tip.append(element("div", "pm", figure.note));
    beside(u);
  }

  // Places the tip beside the pointer.
  function beside(u) {
    const at = u.over.getBoundingClientRect();
    placed(at.left + u.cursor.left, at.top);
  }

  function placed(x, y) {
    tip.hidden = false;
    const left = x + 14;
    const other = left + tip.offsetWidth > innerWidth - 8 ? x - tip.offsetWidth - 14 : left;
    tip.style.left = `${Math.max(4, other) + scrollX}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 8, innerHeight - tip.offsetHeight - 8)) + scrollY}px`;
  }

  function keyed(event, plot, figure, panel, file) {
    const [low, high] = [plot.scales.x.min, plot.scales.x.max];
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 };
    if (event.key in moves || event.key === "Home" || event.key === "End") {
      const inside = panel.x.map((x, i) => [x, i]).filter(([x]) => x >= low && x <= high).map(([, i]) => i);
      if (!inside.length) return;
      const [from, to] = [inside[0], inside[inside.length - 1]];
      const now = plot.cursor.idx === null || plot.cursor.idx === undefined ? from - 1 : plot.cursor.idx;
      const next = event.key === "Home" ? from : event.key === "End" ? to : Math.min(to, Math.max(from, now + moves[event.key]));
      plot.setCursor({ left: plot.valToPos(panel.x[next], "x"), top: plot.over.clientHeight / 2 });
    } else if (event.key === "+" || event.key === "-") {
      const middle = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : (low + high) / 2;
      const factor = event.key === "+" ? 0.5 : 2;
      show(figure, file, [middle - (middle - low) * factor, middle + (high - middle) * factor]);
    } else if (event.key === "Escape") {
      tip.hidden = true;
      show(figure, file, null);
    } else return;
    event.preventDefault();
  }

  // Shows a stretch of the x axis, of all figures over time or of this one; null shows all of it.
  function show(figure, file, range) {
    const [low, high] = file.whole;
    const cut = range && [Math.max(low, range[0]), Math.min(high, range[1])];
    const chosen = cut && cut[1] - cut[0] > 1e-9 && cut[1] - cut[0] < high - low ? cut : null;
    if (figure.over_time) stretch = chosen;
    else file.range = chosen;
    for (const one of charts) {
      if (one.file !== file && !(figure.over_time && one.figure.over_time)) continue;
      one.panels.forEach(({ plot }) => plot.setScale("x", { min: 0, max: 1 }));
    }
    if (figure.over_time) brushes.forEach((brush) => brush());
  }

  // The entries of a figure's legend: lines and bands, each once.
  function entries(figure) {
    const found = new Map();
    for (const panel of figure.panels) {
      for (const [name, , , colour] of panel.bands || []) if (!found.has(name)) found.set(name, { colour, band: true });
      for (const line of panel.stacked ? [...panel.lines].reverse() : panel.lines) if (line.in_legend && !found.has(line.name)) found.set(line.name, line);
    }
    return found;
  }

  function legend(place, figure) {
    const found = entries(figure);
    if (found.size < 2) return;
    const box = element("div", "keys");
    const buttons = new Map();
    for (const [name, line] of found) {
      const button = element(line.band ? "span" : "button", "key");
      const sample = element("span", line.band ? "swatch band" : line.symbol ? `swatch ${line.symbol}` : "swatch");
      if (line.dash) {
        const [on, off] = line.dash;
        sample.style.background = `repeating-linear-gradient(90deg, ${line.colour} 0 ${on}px, transparent ${on}px ${on + off}px)`;
      } else sample.style.background = line.colour;
      button.append(sample, name);
      if (!line.band) {
        button.type = "button";
        button.setAttribute("aria-pressed", String(!hidden.has(name)));
        button.title = "Click: show or hide. Double click: only this.";
        button.addEventListener("click", () => { toggle([name], hidden.has(name)); });
        button.addEventListener("dblclick", () => {
          const alone = [...found.keys()].every((other) => other === name || hidden.has(other));
          toggle([...found.keys()], alone);
          if (!alone) toggle([name], true);
        });
        buttons.set(name, button);
      }
      box.append(button);
    }
    if (found.size >= PICKER_FROM) place.append(picker(buttons, box));
    place.append(box);
    const refresh = () => buttons.forEach((button, name) => button.setAttribute("aria-pressed", String(!hidden.has(name))));
    legends.push({ place, refresh });
  }

  function picker(buttons, box) {
    const tools = element("div", "picker");
    const search = element("input");
    search.type = "search";
    search.placeholder = `Find one of ${buttons.size}`;
    search.setAttribute("aria-label", "Find lines by name");
    search.addEventListener("input", () => {
      const wanted = search.value.toLowerCase();
      buttons.forEach((button, name) => { button.hidden = !name.toLowerCase().includes(wanted); });
    });
    const found = () => [...buttons.keys()].filter((name) => !buttons.get(name).hidden);
    const all = element("button", "", "Show these");
    const none = element("button", "", "Hide these");
    const only = element("button", "", "Only these");
    all.addEventListener("click", () => toggle(found(), true));
    none.addEventListener("click", () => toggle(found(), false));
    only.addEventListener("click", () => { toggle([...buttons.keys()], false); toggle(found(), true); });
    [all, none, only].forEach((button) => { button.type = "button"; });
    tools.append(search, all, none, only);
    box.classList.add("many");
    return tools;
  }

  let legends = [];
  function toggle(names, on) {
    for (const name of names) on ? hidden.delete(name) : hidden.add(name);
    for (const { panels } of charts) {
      for (const { plot } of panels) {
        plot.batch(() => plot.series.forEach((one, i) => { if (one.of && one.show === hidden.has(one.of.name)) plot.setSeries(i, { show: !hidden.has(one.of.name) }, false); }));
      }
    }
    legends.forEach(({ refresh }) => refresh());
  }

  // The stretch of time that all figures show: chosen by numbers, by dragging over the strip, or in any figure.
  const brushes = [];
  function brush(place) {
    const first = charts.find(({ figure }) => figure.over_time);
    if (!first) return;
    const { figure, file } = first;
    const strip = element("div", "strip");
    const tools = element("form", "range");
    const [from, to] = [element("input"), element("input")];
    for (const [input, name] of [[from, "From"], [to, "to"]]) {
      input.type = "number";
      input.step = "any";
      [input.min, input.max] = file.whole;
      const label = element("label", "", `${name} `);
      label.append(input);
      tools.append(label);
      input.addEventListener("change", () => show(figure, file, [Number(from.value), Number(to.value)]));
    }
    const reset = element("button", "", "Whole run");
    reset.type = "button";
    reset.addEventListener("click", () => show(figure, file, null));
    tools.append(` ${unit(figure.x_label)} `, reset);
    tools.addEventListener("submit", (event) => event.preventDefault());
    place.append(strip, tools);
    const panel = figure.panels[0];
    const { data, list } = series(panel);
    const plot = new uPlot({
      width: place.clientWidth, height: 54, series: list, legend: { show: false }, padding: [2, 10, 2, 0],
      scales: { x: { time: false, range: () => file.whole }, y: { range: (u, low, high) => [0, high || 1] } },
      axes: [{ show: false }, { show: true, size: 84, values: (u, places) => places.map(() => ""), ticks: { show: false }, grid: { show: false } }],
      cursor: { x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: { setSelect: [(u) => { if (!mine && u.select.width > 3) show(figure, file, [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]); }] },
    }, data, strip);
    let mine = false;
    brushes.push(() => {
      const [low, high] = stretch || file.whole;
      [from.value, to.value] = [low, high].map((x) => Number(x.toPrecision(5)));
      reset.disabled = !stretch;
      mine = true;
      const [left, right] = [plot.valToPos(low, "x"), plot.valToPos(high, "x")];
      plot.setSelect({ left, width: stretch ? right - left : 0, top: 0, height: plot.over.clientHeight });
      mine = false;
    });
    strip.setAttribute("aria-hidden", "true"); // the numbers beside it do the same
    brushes[brushes.length - 1]();
    charts.push({ place, figure: { over_time: false, panels: [] }, file: {}, panels: [{ plot, box: strip }] });
  }

  function add(place, figure) {
    const file = { whole: whole(figure), range: null };
    const panels = figure.panels.map((panel, index) => drawn(place, figure, panel, index, file));
    charts.push({ place, figure, file, panels });
  }

  // Removes everything that was drawn within an element.
  function clear(within) {
    tip.hidden = true;
    for (const { panels } of charts.filter(({ place }) => within.contains(place))) panels.forEach(({ plot }) => plot.destroy());
    charts.splice(0, charts.length, ...charts.filter(({ place }) => !within.contains(place)));
    legends = legends.filter(({ place }) => !within.contains(place));
    within.replaceChildren();
  }

  for (const place of document.querySelectorAll(".plot")) {
    const figure = JSON.parse(document.getElementById(place.id + "-data").textContent);
    legend(place, figure);
    add(place, figure);
    chartData.add(place, figure);
  }
  // For scripts that make figures themselves.
  window.narrowsCharts = {
    add, clear, legend,
    tell(x, y, ...parts) { tip.replaceChildren(...parts); placed(x, y); },
    hush() { tip.hidden = true; },
  };
  const place = document.querySelector(".brush");
  if (place) brush(place);
  const resized = () => charts.forEach(({ place, panels }) => panels.forEach(({ plot }) => {
    if (place.clientWidth && place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height: plot.height });
  }));
  window.addEventListener("resize", resized);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(({ panels }) => panels.forEach(({ plot }) => plot.redraw())));
})();
