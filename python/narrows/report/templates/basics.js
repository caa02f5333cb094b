"use strict";
// What the scripts of a page share: elements, numbers as text, CSV.
const pageBasics = (function () {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const element = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  // Four significant digits, thousands separated; no exponents.
  const written = (value) => {
    if (value === null || value === undefined) return "–";
    const digits = value === 0 ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 9) });
  };
  // Numbers of an axis, with as many decimals as tell them apart.
  const scale = (places) => {
    const step = Math.abs(places[1] - places[0]);
    const digits = step > 0 ? Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)) : 0;
    const more = digits < 9 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 ? 1 : 0;
    return (place) => (places.length < 2 ? written(place) : place.toLocaleString("en", { maximumFractionDigits: digits + more }));
  };
  const unit = (label) => (/\(([^)]*)\)\s*$/.exec(label) || ["", ""])[1];
  const titled = (label) => label.replace(/\s*\([^)]*\)\s*$/, "");
  // Rows as CSV (RFC 4180, with newlines alone).
  const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replace(/"/g, '""')}"` : String(value));
  const csv = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  const download = (name, text) => {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return { css, element, written, scale, unit, titled, csv, download };
})();
