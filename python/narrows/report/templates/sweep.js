"use strict";
// The page of a sweep: charts, heat map and tables of the measures and axes that a reader chooses, from the values of
// all runs (narrows/studies/sweep/shown.py). Means and intervals are those of narrows/studies/sweep/cells.py.
(async function () {
  const { element, written, csv, download } = pageBasics;
  const { add, clear, legend } = window.narrowsCharts;
  const { framed, paged } = window.narrowsTables;
  const sweep = JSON.parse(document.getElementById("sweep-data").textContent);
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  const DASHES = [null, [6, 3], [2, 2.5]];
  const SYMBOLS = ["circle", "square", "diamond"];
  const titled = (one) => (one.unit ? `${one.name} (${one.unit})` : one.name);
  const level = (axis, i) => (axis.unit ? `${axis.texts[i]} ${axis.unit}` : axis.texts[i]);
  const count = (n) => `${n.toLocaleString("en")} run${n === 1 ? "" : "s"}`;
  const interval = sweep.seeds > 1 ? `95 % intervals over ${sweep.seeds} seeds (Student)` : "";

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }
  if (typeof DecompressionStream === "undefined") {
    document.documentElement.classList.add("undrawn"); // then the drawings for paper are shown
    return;
  }
  for (const axis of sweep.axes) axis.codes = await unpacked(axis.codes);
  const valuesOf = (measure) => (measure.read = measure.read || unpacked(measure.values));

  // Means over all but some axes: of each seed, and then over seeds with Student's interval.
  function cells(values, by) {
    const seeds = sweep.seeds;
    const size = by.reduce((product, axis) => product * axis.texts.length, 1);
    const [sums, counts] = [new Float64Array(size * seeds), new Uint32Array(size * seeds)];
    for (let point = 0; point < sweep.points; point++) {
      let group = 0;
      for (const axis of by) group = group * axis.texts.length + axis.codes[point];
      for (let seed = 0; seed < seeds; seed++) {
        const value = values[point * seeds + seed];
        if (value === null) continue;
        sums[group * seeds + seed] += value;
        counts[group * seeds + seed] += 1;
      }
    }
    return (...place) => {
      const group = place.reduce((index, at, i) => index * by[i].texts.length + at, 0);
      const means = [];
      let runs = 0;
      for (let at = group * seeds; at < (group + 1) * seeds; at++) {
        if (counts[at]) means.push(sums[at] / counts[at]);
        runs += counts[at];
      }
      const n = means.length;
      if (!n) return { mean: null, low: null, high: null, half: null, runs: 0 };
      const mean = means.reduce((sum, value) => sum + value, 0) / n;
      if (n < 2) return { mean, low: null, high: null, half: null, runs };
      const spread = Math.sqrt(means.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
      const half = sweep.t[Math.min(n - 2, sweep.t.length - 1)] * spread / Math.sqrt(n);
      return { mean, low: mean - half, high: mean + half, half, runs };
    };
  }

  function said(cell, unit) {
    if (cell.mean === null) return "no value";
    const spread = cell.half ? ` ± ${three(cell.half)}` : "";
    return `${short(cell.mean)}${spread} ${unit}`.trim();
  }
  // Three significant digits, as the tables of the page have them.
  const three = (value) => {
    const size = Math.abs(value);
    if (size > 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2);
    const digits = size === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Number(size.toPrecision(3)))));
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };
  const short = (value) => {
    const size = Math.abs(value);
    return size > 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(2) : written(Number(value.toPrecision(4)));
  };

  const axisOf = (name) => sweep.axes.find((axis) => axis.name === name) || null;
  const chosen = {
    measures: new Set(sweep.view.measures.filter((name) => sweep.measures.some((one) => one.name === name))),
    x: axisOf(sweep.view.x), series: axisOf(sweep.view.series), facet: axisOf(sweep.view.facet), zero: true,
  };
  function select(place, label, options, value, act) {
    const box = element("label", "", `${label} `);
    const made = element("select");
    options.forEach(([text, one, fits]) => {
      const option = element("option", "", text);
      option.disabled = fits === false;
      option.selected = one === value;
      made.append(option);
    });
    made.addEventListener("change", () => act(options[made.selectedIndex][1]));
    box.append(made);
    place.append(box);
    return { set(one) { made.selectedIndex = options.findIndex(([, other]) => other === one); } };
  }

  function axisOptions(most, none) {
    const listed = sweep.axes.map((axis) => {
      const levels = axis.texts.length;
      return [`${titled(axis)}: ${levels} value${levels === 1 ? "" : "s"}`, axis, most === null || levels <= most];
    });
    return none ? [[none, null, true], ...listed] : listed;
  }

  function controls() {
    const form = document.querySelector("#explore .choose");
    const fields = form.querySelector("fieldset");
    const box = element("div", "checks");
    for (const measure of sweep.measures) {
      const label = element("label");
      const input = Object.assign(element("input"), { type: "checkbox", checked: chosen.measures.has(measure.name) });
      input.addEventListener("change", () => {
        if (input.checked) chosen.measures.add(measure.name);
        else chosen.measures.delete(measure.name);
        draw();
      });
      label.append(input, ` ${titled(measure)}`);
      box.append(label);
    }
    fields.append(box);
    if (sweep.left_out.length) {
      const n = sweep.left_out.length;
      fields.append(element("p", "pm", `${n} more in the data set; narrows report DIR --measure ${sweep.left_out[0]} puts it here.`));
    }
    const place = form.querySelector(".selects");
    const picks = {};
    const pick = (role) => (axis) => {
      // An axis has one place: whoever had it gets what this place had before, if it may be without an axis.
      for (const other of ["x", "series", "facet"]) {
        if (other === role || chosen[other] !== axis || axis === null) continue;
        const fits = chosen[role] && chosen[role].texts.length <= (other === "series" ? sweep.most.series : sweep.most.facets);
        chosen[other] = other === "x" ? chosen[role] || sweep.axes.find((one) => one !== axis) || axis : fits ? chosen[role] : null;
        picks[other].set(chosen[other]);
      }
      chosen[role] = axis;
      draw();
    };
    picks.x = select(place, "Along", axisOptions(null, null), chosen.x, pick("x"));
    picks.series = select(place, "Lines", axisOptions(sweep.most.series, "none: mean"), chosen.series, pick("series"));
    picks.facet = select(place, "A chart for each", axisOptions(sweep.most.facets, "none: mean"), chosen.facet, pick("facet"));
    const label = element("label");
    const zero = Object.assign(element("input"), { type: "checkbox", checked: true });
    zero.addEventListener("change", () => { chosen.zero = zero.checked; draw(); });
    label.append(zero, " from zero");
    place.append(label);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
  }

  // Levels with room for their text on the axis; the first and the last one among them.
  function splits(axis) {
    const at = (x) => (axis.log ? Math.log(x) : x);
    return (u) => {
      const { min, max } = u.scales.x;
      const width = u.bbox.width / devicePixelRatio;
      const inside = axis.levels.filter((x) => x >= min && x <= max);
      const kept = [];
      let from = -Infinity;
      for (const x of inside) {
        const place = (at(x) - at(min)) / (at(max) - at(min)) * width;
        if (place - from < 7 * written(x).length + 12) continue;
        kept.push(x);
        from = place;
      }
      return kept;
    };
  }

  // The lines of one chart, and the smallest and largest values with their intervals.
  function lines(cell, facet) {
    const { x, series } = chosen;
    const names = series ? series.texts.map((_, i) => i) : [null];
    return names.map((group, index) => {
      const found = x.texts.map((_, i) => cell(...[i, group, facet].filter((place) => place !== null)));
      const line = {
        name: series ? `${series.name} = ${level(series, index)}` : "mean", colour: COLOURS[index % COLOURS.length], width: 1.6,
        y: found.map(({ mean }) => mean), runs: found.map(({ runs }) => runs), in_legend: true,
      };
      const turn = Math.floor(index / COLOURS.length);
      if (DASHES[turn % 3]) line.dash = DASHES[turn % 3];
      if (x.numeric) line.dots = true;
      else [line.symbol, line.shift] = [SYMBOLS[turn % 3], 9 * (index - (names.length - 1) / 2)];
      if (sweep.seeds > 1) [line.low, line.high] = [found.map((one) => one.low), found.map((one) => one.high)];
      return line;
    });
  }

  function limits(panels) {
    const all = panels.flat().flatMap(({ y, low, high }) => [...y, ...(low || []), ...(high || [])]).filter((value) => value !== null);
    if (!all.length) return null;
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const [bottom, top] = chosen.zero ? [Math.min(0, least), Math.max(0, most)] : [least, most];
    const room = 0.06 * (top - bottom) || Math.abs(top) * 0.1 || 1;
    return [bottom < 0 || !chosen.zero ? bottom - room : bottom, top + room];
  }

  let turn = 0; // a choice made while an earlier one is being drawn wins
  async function draw() {
    const mine = ++turn;
    const measures = sweep.measures.filter(({ name }) => chosen.measures.has(name));
    const { x, series, facet } = chosen;
    const by = [x, series, facet].filter((axis) => axis !== null);
    const read = await Promise.all(measures.map(valuesOf));
    if (mine !== turn) return;
    const place = document.querySelector("#explore .charts");
    clear(place);
    place.classList.toggle("beside", !facet); // without small multiples the measures stand side by side
    const facets = facet ? facet.texts.map((_, i) => i) : [null];
    const made = measures.map((measure, i) => {
      const cell = cells(read[i], by);
      return { measure, cell, panels: facets.map((one) => lines(cell, one)) };
    });
    made.forEach(({ measure, panels }, index) => {
      const section = element("section", "measure");
      section.append(element("h3", "", titled(measure)));
      place.append(section);
      if (index === 0) {
        const keys = element("div", "across");
        section.before(keys);
        legend(keys, { panels: [{ lines: panels[0] }] });
      }
      const grid = element("div", facet ? "multiples" : "multiples one");
      if (!x.numeric && x.texts.length > 8) grid.classList.add("broad");
      section.append(grid);
      const range = limits(panels);
      panels.forEach((own, at) => {
        const box = element("div", "chart");
        grid.append(box);
        const longest = Math.max(...x.texts.map((text) => text.length));
        const each = (box.clientWidth - 100) / x.texts.length; // px beside each other
        const cramped = !x.numeric && 7 * longest > each;
        const turned = each < 18 ? [90, Math.min(130, 20 + 7 * longest)] : [45, Math.min(110, 24 + 5 * longest)];
        add(box, {
          x_label: titled(x), x_range: null, x_log: x.log, over_time: false, marks: [], height: facet ? 170 : 230,
          ticks: x.numeric ? [] : x.texts, rotate: cramped ? turned : null, splits: x.numeric ? splits(x) : null,
          note: interval,
          panels: [{
            title: facet ? `${facet.name} = ${level(facet, facets[at])}` : "", y_label: titled(measure), y_range: range,
            x: x.numeric ? x.levels : x.texts.map((_, i) => i), stacked: false, lines: own,
          }],
        });
      });
    });
    const over = by.map((axis) => axis.name);
    const rest = sweep.axes.filter((axis) => !by.includes(axis) && axis.texts.length > 1).map((axis) => axis.name);
    const state = document.querySelector("#explore .state");
    state.textContent = measures.length
      ? `${measures.map(({ name }) => name).join(", ")} over ${over.join(", ")}${rest.length ? `; means over ${rest.join(", ")}` : ""}.`
      : "No measure is chosen.";
    tables(made, by);
  }

  function tables(made, by) {
    const details = document.querySelector("#explore .behind");
    const place = details.querySelector(".tables");
    details.hidden = !made.length;
    const fill = () => {
      const save = Object.assign(element("button", "", "Download as CSV"), { type: "button" });
      save.addEventListener("click", () => download("sweep.csv", csv(means(made))));
      place.replaceChildren(save, ...made.map(({ measure, cell }) => numbers(measure, cell)));
      place.querySelectorAll(".scroll").forEach((frame) => { paged(frame.firstChild); framed(frame); });
    };
    details.ontoggle = () => { if (details.open) fill(); };
    if (details.open) fill();
  }

  // A row per mean: its place on the axes, and the interval; full precision.
  function means(made) {
    const { x, series, facet } = chosen;
    const by = [x, series, facet].filter((axis) => axis !== null);
    const rows = [["measure", "unit", ...by.map(titled), "mean", "low", "high", "runs"]];
    for (const { measure, cell } of made) {
      const walk = (place) => {
        if (place.length < by.length) {
          by[place.length].texts.forEach((_, i) => walk([...place, i]));
          return;
        }
        const one = cell(...place);
        if (one.runs) rows.push([measure.name, measure.unit, ...place.map((i, at) => by[at].texts[i]), one.mean, one.low ?? "", one.high ?? "", one.runs]);
      };
      walk([]);
    }
    return rows;
  }

  function numbers(measure, cell) {
    const { x, series, facet } = chosen;
    const frame = element("div", "scroll");
    const table = element("table");
    table.append(element("caption", "", `${titled(measure)}: mean${sweep.seeds > 1 ? " ± half of the 95 % interval" : ""}, and runs`));
    const head = table.createTHead().insertRow();
    const heading = (text) => Object.assign(element("th", "", text), { scope: "col" });
    if (facet) head.append(heading(titled(facet)));
    head.append(heading(titled(x)));
    const groups = series ? series.texts.map((_, i) => i) : [null];
    groups.forEach((group) => head.append(heading(series ? `${series.name} = ${level(series, group)}` : "mean")));
    const body = table.createTBody();
    for (const part of facet ? facet.texts.map((_, i) => i) : [null]) {
      x.texts.forEach((text, i) => {
        const row = body.insertRow();
        if (facet) row.insertCell().textContent = facet.texts[part];
        row.insertCell().textContent = text;
        for (const group of groups) {
          const one = cell(...[i, group, part].filter((at) => at !== null));
          const td = row.insertCell();
          td.textContent = said(one, "");
          td.append(element("span", "pm", one.runs ? ` (${one.runs})` : ""));
        }
      });
    }
    frame.append(table);
    return frame;
  }

  document.documentElement.classList.add("drawn-by-script");
  controls();
  await draw();
  const heat = heatMap(sweep, sweep.measures.find((one) => chosen.measures.has(one.name)) || sweep.measures[0], {
    valuesOf, cells, axisOf, axisOptions, select, titled, level, count, said, three, interval,
  });
  if (heat.fits) {
    heat.controls();
    await heat.draw();
  } else if (!document.querySelector("#map table")) document.getElementById("map").hidden = true;
})();
