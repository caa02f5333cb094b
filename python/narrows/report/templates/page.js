"use strict";
(function () {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  // Charts keep the colours of their lines; text, axes and paper follow the page, in light and in dark.
  function dressed(layout) {
    const out = JSON.parse(JSON.stringify(layout));
    const font = { family: css("--sans"), size: 12, color: css("--ink") };
    out.font = font;
    out.paper_bgcolor = "rgba(0,0,0,0)";
    out.plot_bgcolor = "rgba(0,0,0,0)";
    out.hoverlabel = { bgcolor: css("--panel"), bordercolor: css("--line"), font: font };
    out.modebar = { bgcolor: "rgba(0,0,0,0)", color: css("--line"), activecolor: css("--ink") };
    out.legend = Object.assign({ font: { size: 12 }, bgcolor: "rgba(0,0,0,0)" }, out.legend);
    for (const key of Object.keys(out)) {
      if (!/^[xy]axis/.test(key)) continue;
      const grid = key[0] === "y";
      Object.assign(out[key], {
        showgrid: grid, gridcolor: css("--rule"), showline: true, linecolor: css("--line"), ticks: "outside", ticklen: 4,
        tickcolor: css("--line"), automargin: true,
      });
    }
    for (const shape of out.shapes || []) shape.line.color = css("--faint");
    for (const note of out.annotations || []) note.font = Object.assign({}, note.font, { color: css("--muted") });
    return out;
  }
  const charts = [];
  for (const place of document.querySelectorAll(".plot")) {
    const chart = JSON.parse(document.getElementById(place.id + "-data").textContent);
    charts.push([place, chart]);
    Plotly.newPlot(place, chart.data, dressed(chart.layout), {
      responsive: true, displaylogo: false, modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
      toImageButtonOptions: { format: "svg", filename: place.dataset.file },
    });
  }
  dark.addEventListener("change", () => charts.forEach(([place, chart]) => Plotly.react(place, chart.data, dressed(chart.layout))));
  // What is folded away on screen belongs on paper too.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
