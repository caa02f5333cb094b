"use strict";
// The heat map of a sweep's page: one measure over two axes that a reader chooses. `first` is the measure at the
// beginning, and `tools` what sweep.js has for all of its charts.
function heatMap(sweep, first, tools) {
  const { valuesOf, cells, axisOf, axisOptions, select, titled, level, count, said, three, interval } = tools;
  const { element } = pageBasics;
  const { tell, hush } = window.narrowsCharts;
  const { framed } = window.narrowsTables;
  const [PAPER, BLUE] = [[0xf7, 0xf7, 0xf5], [0x00, 0x72, 0xb2]];
  const MISSING = [0xdd, 0xdf, 0xe3];
  const TEXT_COLUMNS = 16; // columns of a heat map up to which its cells have text
  const heated = {
    measure: first, across: sweep.view.heat && axisOf(sweep.view.heat[0]), down: sweep.view.heat && axisOf(sweep.view.heat[1]),
  };
  const fits = [heated.across, heated.down].every((axis) => axis && axis.texts.length <= sweep.most.heat);

  const mixed = (part) => PAPER.map((value, i) => Math.round(value + (BLUE[i] - value) * part));
  const css = (colour) => `rgb(${colour.join(",")})`;
  const ink = (colour) => {
    const linear = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    return (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) ? "#000" : "#fff";
  };

  async function draw() {
    const { measure, across, down } = heated;
    const read = await valuesOf(measure);
    const cell = cells(read, [down, across]);
    const all = down.texts.flatMap((_, i) => across.texts.map((__, j) => cell(i, j)));
    const means = all.map(({ mean }) => mean).filter((mean) => mean !== null);
    const [low, high] = [Math.min(...means), Math.max(...means)];
    const frame = element("div", "scroll");
    const table = element("table", "heatmap");
    const about = element("p");
    about.append(element("b", "", titled(measure)), `: means over all other axes and the seeds. Across: ${titled(across)}. Down: ${titled(down)}.`);
    table.setAttribute("aria-label", `${titled(measure)} over ${titled(across)} and ${titled(down)}`);
    const head = table.createTHead().insertRow();
    head.insertCell();
    across.texts.forEach((text) => head.append(Object.assign(element("th", "", text), { scope: "col" })));
    const body = table.createTBody();
    down.texts.forEach((text, i) => {
      const row = body.insertRow();
      row.append(Object.assign(element("th", "", text), { scope: "row" }));
      across.texts.forEach((_, j) => {
        const one = all[i * across.texts.length + j];
        const colour = one.mean === null ? MISSING : mixed(high > low ? (one.mean - low) / (high - low) : 0);
        const td = row.insertCell();
        td.style.background = css(colour);
        td.style.color = ink(colour);
        const words = one.mean === null ? "–" : three(one.mean);
        td.append(element("span", across.texts.length > TEXT_COLUMNS ? "unseen" : "", words));
        td.tabIndex = i + j === 0 ? 0 : -1;
        const show = () => {
          const at = td.getBoundingClientRect();
          const where = `${down.name} = ${level(down, i)}, ${across.name} = ${level(across, j)}`;
          tell(at.right - 8, at.top, element("div", "tip-x", where), element("div", "", `${measure.name} ${said(one, measure.unit)}`), element("div", "pm", [count(one.runs), interval].filter(Boolean).join("; ")));
        };
        td.addEventListener("mouseenter", show);
        td.addEventListener("focus", show);
        td.addEventListener("mouseleave", hush);
        td.addEventListener("blur", hush);
      });
    });
    table.addEventListener("keydown", moved);
    frame.append(table);
    const ramp = element("p", "ramp");
    const colours = element("span", "colours");
    colours.style.background = `linear-gradient(90deg,${css(PAPER)},${css(BLUE)})`;
    ramp.append(element("span", "", three(low)), colours, element("span", "", three(high)), " ", element("span", "", titled(measure)));
    document.querySelector("#map .heat-place").replaceChildren(about, frame, ramp);
    framed(frame);
  }

  // Arrow keys move from cell to cell; one of them is in the order of the tab key.
  function moved(event) {
    const td = event.target.closest("td");
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!td || !(event.key in steps)) return;
    const [down, right] = steps[event.key];
    const row = td.parentElement.parentElement.rows[td.parentElement.sectionRowIndex + down];
    const next = row && row.cells[td.cellIndex + right];
    event.preventDefault();
    if (!next || next.tagName !== "TD") return;
    [td.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  }

  function controls() {
    const form = document.querySelector("#map .choose");
    const place = form.querySelector(".selects");
    select(place, "Measure", sweep.measures.map((one) => [titled(one), one, true]), heated.measure, (one) => { heated.measure = one; draw(); });
    const picks = {};
    const pick = (role, other) => (axis) => {
      if (heated[other] === axis) {
        heated[other] = heated[role];
        picks[other].set(heated[other]);
      }
      heated[role] = axis;
      draw();
    };
    picks.across = select(place, "Across", axisOptions(sweep.most.heat, null), heated.across, pick("across", "down"));
    picks.down = select(place, "Down", axisOptions(sweep.most.heat, null), heated.down, pick("down", "across"));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
  }

  return { fits, controls, draw };
}
