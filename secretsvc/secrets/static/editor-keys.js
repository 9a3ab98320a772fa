// Keys of the editor; none of them works while something is typed.
const table = document.querySelector("table.editor");

function rowsShown() {
  return [...table.querySelectorAll("tr.old")].filter((row) => !row.hidden);
}

function current() {
  return document.activeElement.closest("tr.old");
}

function step(by) {
  const rows = rowsShown();
  const at = rows.indexOf(current());
  const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1);
  rows[next]?.querySelector("a.key").focus();
}

function focus(element) {
  element?.focus();
  return Boolean(element);
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  e: () => focus(current()?.querySelector("textarea.w")),
  r: () => current()?.querySelector("[name=reveal], [name=mask]")?.click(),
  c: () => current()?.querySelector("[name=copy]")?.click(),
  n: () => focus([...document.querySelectorAll("tr.new:not([hidden]) .nk")].find((one) => one.value === "")),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (typing && event.key === "Escape" && current()) {
    current().querySelector("a.key").focus();
  }
  const act = KEYS[event.key];
  if (!act || typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
    return;
  }
  event.preventDefault();
  act();
});
