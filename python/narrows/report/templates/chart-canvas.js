"use strict";
// What figures of charts.js have on their canvas beside uPlot's lines: bands and marks below them; rules, texts and
// points above them.
const chartCanvas = (function () {
  const { css, written } = pageBasics;

  // A stacked area hides what is below it, so it is opaque: its colour mixed with the paper's.
  function mixed(colour) {
    return () => {
      const paper = /^#(..)(..)(..)/.exec(css("--paper")) || [0, "ff", "ff", "ff"];
      const part = (at) => Math.round(0.6 * parseInt(colour.substr(2 * at - 1, 2), 16) + 0.4 * parseInt(paper[at], 16));
      return `rgb(${part(1)},${part(2)},${part(3)})`;
    };
  }

  function under(figure, panel) {
    return (u) => {
      const { left, top, width, height } = u.bbox;
      const at = (value) => u.valToPos(value, "x", true);
      u.ctx.save();
      u.ctx.beginPath();
      u.ctx.rect(left, top, width, height);
      u.ctx.clip();
      for (const [, start, end, colour] of panel.bands || []) {
        u.ctx.fillStyle = colour;
        u.ctx.fillRect(at(start), top, at(end) - at(start), height);
      }
      u.ctx.strokeStyle = css("--faint");
      u.ctx.lineWidth = devicePixelRatio;
      u.ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
      for (const [place] of figure.marks) stroke(u, at(place), top, at(place), top + height);
      if (panel.rule) {
        const y = u.valToPos(panel.rule[0], "y", true);
        stroke(u, left, y, left + width, y);
      }
      u.ctx.restore();
    };
  }

  function stroke(u, x0, y0, x1, y1) {
    u.ctx.beginPath();
    u.ctx.moveTo(x0, y0);
    u.ctx.lineTo(x1, y1);
    u.ctx.stroke();
  }

  function over(figure, panel, first, hidden) {
    return (u) => {
      const ratio = devicePixelRatio;
      u.ctx.save();
      u.ctx.fillStyle = css("--muted");
      u.ctx.font = `${11 * ratio}px ${css("--sans")}`;
      // An axis that leaves zero out says so.
      u.ctx.textAlign = "left";
      if (panel.y_range && panel.y_range[0] > 0) u.ctx.fillText(`from ${written(Number(panel.y_range[0].toPrecision(3)))}, not from 0`, u.bbox.left + 8 * ratio, u.bbox.top + u.bbox.height - 6 * ratio);
      if (panel.rule && panel.rule[1]) {
        u.ctx.textAlign = "right";
        u.ctx.fillText(panel.rule[1], u.bbox.left + u.bbox.width - 4, u.valToPos(panel.rule[0], "y", true) - 4 * ratio);
      }
      if (first) {
        u.ctx.textAlign = "left";
        for (const [place, text] of figure.marks) {
          u.ctx.save();
          u.ctx.translate(u.valToPos(place, "x", true) + 11 * ratio, u.bbox.top + u.bbox.height - 4 * ratio);
          u.ctx.rotate(-Math.PI / 2);
          u.ctx.fillText(text, 0, 0);
          u.ctx.restore();
        }
      }
      panel.lines.filter((line) => line.symbol && !hidden.has(line.name)).forEach((line) => points(u, panel, line));
      u.ctx.restore();
    };
  }

  // Points, with their intervals as bars; `shift` puts those of several lines beside each other (px).
  function points(u, panel, line) {
    const shift = (line.shift || 0) * devicePixelRatio;
    const size = 4 * devicePixelRatio;
    u.ctx.fillStyle = u.ctx.strokeStyle = line.colour;
    u.ctx.lineWidth = 1.3 * devicePixelRatio;
    panel.x.forEach((x, i) => {
      if (line.y[i] === null) return;
      const [px, py] = [u.valToPos(x, "x", true) + shift, u.valToPos(line.y[i], "y", true)];
      if (line.low && line.low[i] !== null) {
        const [low, high] = [u.valToPos(line.low[i], "y", true), u.valToPos(line.high[i], "y", true)];
        stroke(u, px, low, px, high);
        stroke(u, px - size, low, px + size, low);
        stroke(u, px - size, high, px + size, high);
      }
      u.ctx.beginPath();
      if (line.symbol === "circle") u.ctx.arc(px, py, size, 0, 2 * Math.PI);
      else if (line.symbol === "square") u.ctx.rect(px - size, py - size, 2 * size, 2 * size);
      else u.ctx.moveTo(px, py - 1.3 * size), u.ctx.lineTo(px + 1.3 * size, py), u.ctx.lineTo(px, py + 1.3 * size), u.ctx.lineTo(px - 1.3 * size, py);
      u.ctx.fill();
    });
  }

  return { mixed, under, over };
})();
