"use strict";
// What is folded away on screen belongs on paper too.
window.addEventListener("beforeprint", () => document.querySelectorAll("details:not(.noprint)").forEach((one) => { one.open = true; }));
// A table that is wider than the page scrolls in its frame; the keyboard reaches it there, and its edge shows it.
function framed(frame) {
  const measured = () => {
    const wide = frame.scrollWidth > frame.clientWidth + 1;
    frame.classList.toggle("wide", wide);
    frame.classList.toggle("ended", !wide || frame.scrollLeft + frame.clientWidth >= frame.scrollWidth - 1);
    if (wide) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  };
  measured();
  frame.addEventListener("scroll", measured);
  window.addEventListener("resize", measured);
}
document.querySelectorAll(".scroll, pre").forEach(framed);

// A long table shows some rows at a time, and finds rows by their first cell; without scripts and on paper it is whole.
// Rows under a common heading stay together and are found by it.
const ROWS = 25;
const GROUPS = 6;
function paged(table) {
  const grouped = table.tBodies.length > 1 && table.querySelector("tr.group") !== null;
  const bodies = [...table.tBodies].map((body) => [...body.rows]);
  const items = grouped ? bodies : bodies.flat().map((row) => [row]);
  const size = grouped ? GROUPS : ROWS;
  if (items.length <= 1.2 * size || table.classList.contains("heat") || table.classList.contains("heatmap")) return;
  const pager = document.createElement("div");
  pager.className = "pager noprint";
  const find = Object.assign(document.createElement("input"), { type: "search", placeholder: `Find one of ${items.length}` });
  find.setAttribute("aria-label", "Find rows by name");
  const button = (text) => Object.assign(document.createElement("button"), { type: "button", textContent: text });
  const [back, on, all] = [button("Previous"), button("Next"), button("All")];
  const where = document.createElement("span");
  where.setAttribute("role", "status");
  pager.append(find, back, on, all, where);
  table.parentElement.before(pager);
  let page = 0, whole = false;
  const show = () => {
    const found = items.filter(([row]) => row.cells[0].textContent.toLowerCase().includes(find.value.toLowerCase()));
    page = Math.min(page, Math.max(0, Math.ceil(found.length / size) - 1));
    const shown = new Set(whole ? found : found.slice(page * size, (page + 1) * size));
    items.forEach((item) => item.forEach((row) => row.classList.toggle("paged", !shown.has(item))));
    const first = found.length ? page * size + 1 : 0;
    where.textContent = whole ? `${found.length} ${grouped ? "groups" : "rows"}` : `${first} to ${Math.min(found.length, (page + 1) * size)} of ${found.length}`;
    back.disabled = whole || page === 0;
    on.disabled = whole || (page + 1) * size >= found.length;
    all.textContent = whole ? "Pages" : "All";
  };
  find.addEventListener("input", () => { page = 0; show(); });
  back.addEventListener("click", () => { page -= 1; show(); });
  on.addEventListener("click", () => { page += 1; show(); });
  all.addEventListener("click", () => { whole = !whole; show(); });
  show();
}
document.querySelectorAll(".scroll > table").forEach(paged);
// For scripts that make tables themselves.
window.narrowsTables = { framed, paged };
