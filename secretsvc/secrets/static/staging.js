// What is typed is counted as it is staged, and the page is not left by accident while any of it is.
const form = document.querySelector("form[data-guard]");
const status = document.getElementById("staged");
const filter = document.getElementById("filter");
const newRows = document.getElementById("new-rows");
let leaving = false;

document.documentElement.classList.add("scripted");

function field(name) {
  return form.elements.namedItem(name);
}

function isChanged(row) {
  const key = row.dataset.key;
  const was = field(`was.${key}`);
  const before = onOneLine(was ? was.value : "").trim();
  return field(`value.${key}`).value !== "" || field(`description.${key}`).value.trim() !== before;
}

function isDeleted(row) {
  return field(`delete.${row.dataset.key}`).checked;
}

function isNew(row) {
  return [...row.querySelectorAll("input, textarea")].some((one) => one.value.trim() !== "");
}

function count() {
  const rows = [...form.querySelectorAll("tr[data-key]")];
  const deleted = rows.filter(isDeleted);
  const changed = rows.filter((row) => !isDeleted(row) && isChanged(row));
  rows.forEach((row) => row.classList.toggle("touched", isDeleted(row) || isChanged(row)));
  return { changed: changed.length, new: [...newRows.rows].filter(isNew).length, deleted: deleted.length };
}

function tell() {
  const parts = Object.entries(count()).filter(([, number]) => number > 0);
  status.textContent = parts.length
    ? `${parts.map(([what, number]) => `${number} ${what}`).join(", ")}: not written yet.`
    : "Type what is to change.";
}

// A field of one line has lost the line breaks of what it was given.
function onOneLine(text) {
  return text.replace(/[\r\n]/g, "");
}

function isTouched(one) {
  if (one.type === "checkbox") {
    return one.checked !== one.defaultChecked;
  }
  const same = one.matches("textarea") ? (text) => text : onOneLine;
  return same(one.value) !== same(one.defaultValue);
}

function isDirty() {
  if (newRows) {
    return Object.values(count()).some((number) => number > 0);
  }
  // What was typed before a refusal is drawn as if it had always been there.
  return "typed" in form.dataset || [...form.querySelectorAll("input, textarea")].some(isTouched);
}

function addRow() {
  const row = newRows.rows[newRows.rows.length - 1].cloneNode(true);
  for (const one of row.querySelectorAll("input, textarea")) {
    one.name = one.name.replace(/^new\.[^.]+/, `new.${newRows.rows.length}`);
    one.value = "";
    one.removeAttribute("aria-invalid");
  }
  newRows.append(row);
  row.querySelector("input").focus();
}

if (newRows) {
  form.addEventListener("input", tell);
  document.getElementById("add-row").addEventListener("click", addRow);
  tell();
}

if (filter) {
  filter.addEventListener("input", () => {
    const text = filter.value.toLowerCase();
    for (const row of form.querySelectorAll("tr[data-key]")) {
      row.hidden = !row.dataset.key.toLowerCase().includes(text);
    }
  });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog");
  if (event.key === "n" && newRows && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    newRows.querySelector("input").focus();
  }
});

if (form) {
  form.addEventListener("submit", () => { leaving = true; });
  window.addEventListener("pageshow", () => { leaving = false; });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && isDirty()) {
      event.preventDefault();
    }
  });
}
