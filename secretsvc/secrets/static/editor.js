// The editor's rows: a script marks what is staged, instead of the stylesheet, which would look at all of them
// for each character; it filters, adds rows, draws menus and makes random values in place.
const edits = document.getElementById("edits");
const staged = { mod: new Set(), add: new Set(), gone: new Set() };
const status = document.getElementById("staged");
const filter = document.getElementById("q");
const newRows = document.getElementById("new");
const kept = document.getElementById("kept");
const PARTS = ["key", "value", "description"];
const made = [];
let telling, keeping;

function mark(row, kind, is) {
  if (staged[kind].has(row) !== is) {
    row.classList.toggle(kind, is);
    staged[kind][is ? "add" : "delete"](row);
  }
}

function markRow(row) {
  if (row.classList.contains("new")) {
    mark(row, "add", row.querySelector(".nk").value !== "");
    return;
  }
  const value = row.querySelector(".w");
  const isChanged = Boolean(value && value.value !== "" && !value.classList.contains("open"));
  mark(row, "mod", isChanged || Boolean(row.querySelector(".mt:checked")));
  mark(row, "gone", Boolean(row.querySelector(".rm:checked")));
}

function tally(changed) {
  const words = [[staged.add.size, "new"], [changed, "changed"], [staged.gone.size, "deleted"]];
  const parts = words.filter(([number]) => number > 0).map((part) => part.join(" "));
  return parts.length ? `${parts.join(", ")}: nothing is written yet.` : "";
}

// What stays is not written again: the browser would lay the page out for it. Of what there is none is not told.
function count(name, text) {
  const counter = edits.querySelector(`.${name}`);
  if (counter && counter.textContent !== text) {
    counter.textContent = text;
    counter.closest(".tally")?.toggleAttribute("hidden", /^\D0$/.test(text));
  }
}

// The bar at once, words once somebody pauses.
function tellStaged() {
  const changed = [...staged.mod].filter((row) => !staged.gone.has(row)).length;
  count("n-add", `+${staged.add.size}`);
  count("n-mod", `~${changed}`);
  count("n-del", `−${staged.gone.size}`);
  edits.classList.toggle("staged", Object.values(staged).some((rows) => rows.size > 0));
  clearTimeout(telling);
  telling = setTimeout(() => { status.textContent = tally(changed); }, 400);
}

function update(row) {
  markRow(row);
  tellStaged();
}

// The row of the secret that has the key of a new one already.
function rowOfKey(row) {
  const key = row.querySelector(".nk").value.trim();
  return key && [...document.getElementById("old").rows].find((one) => one.querySelector(".key").textContent === key);
}

// A new row whose key exists says so while it is typed, and leads to the row of that key.
function tellTaken(row) {
  const field = row.querySelector(".nk");
  const key = rowOfKey(row) && field.value.trim();
  row.querySelector(".taken")?.remove();
  field.removeAttribute("aria-invalid");
  field.removeAttribute("aria-describedby");
  if (!key) {
    return;
  }
  const line = document.createElement("span");
  line.className = "sub bad taken";
  line.id = `${field.name}-help`;
  const link = document.createElement("a");
  link.className = "link";
  link.href = `#value.${key}`;
  link.textContent = "Edit it";
  line.append(`${key} exists. `, link);
  field.after(line);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", line.id);
  document.getElementById("announcer").textContent = `${key} exists.`;
}

// The hidden field of a pasted value, which a text area cannot show exactly, goes along.
function moveExact(from, to) {
  const exact = edits.elements[`exact.${from.name}`];
  if (exact && from.value) {
    edits.elements[`exact.${to.name}`]?.remove();
    exact.name = `exact.${to.name}`;
  }
}

// What was typed for the new key goes along, unless something else was typed there.
function editTaken(row) {
  const old = rowOfKey(row);
  const [from, to] = [row, old].map((one) => one.querySelector(".w"));
  old.hidden = false;
  if (to.value === "" || to.classList.contains("open")) {
    moveExact(from, to);
    to.value = from.value || to.value;
    row.querySelector(".nk").value = row.querySelector(".d").value && row.querySelector(".nk").value;
    from.value = "";
    [row.querySelector(".nk"), to].forEach((one) => one.dispatchEvent(new Event("input", { bubbles: true })));
  }
  to.focus();
}

function isBlank(row) {
  return [...row.querySelectorAll("input, textarea")].every((one) => one.value === "");
}

// Of the empty rows for new secrets the first is shown; another is made where there is none.
function showNewRows() {
  const blank = [...newRows.rows].filter(isBlank);
  if (!blank.length) {
    blank.push(addRow());
  }
  blank.filter((row, index) => row.hidden !== index > 0).forEach((row) => { row.hidden = !row.hidden; });
  newRows.querySelectorAll(".spare").forEach((row) => row.classList.remove("spare"));
}

function fieldOf(name, part) {
  return edits.elements[`new.${name}.${part}`];
}

// Rows that went through a review leave gaps: a name may be taken by any of those that came back.
function freeName() {
  let number = newRows.rows.length + 1;
  while (fieldOf(`s${number}`, "key")) {
    number += 1;
  }
  return `s${number}`;
}

function addRow(name = freeName()) {
  const number = newRows.rows.length + 1;
  const row = newRows.rows[newRows.rows.length - 1].cloneNode(true);
  row.classList.remove("add");
  row.querySelector(".taken")?.remove();
  for (const one of row.querySelectorAll("input, textarea, button")) {
    one.name = one.name.replace(/^new\.[^.]+/, `new.${name}`);
    one.setAttribute("aria-label", one.getAttribute("aria-label")?.replace(/\d+/, number) ?? "");
    one.removeAttribute("aria-invalid");
    one.removeAttribute("aria-describedby");
    one.removeAttribute("id");
    one.value = one.matches("button") ? name : "";
  }
  newRows.append(row);
  made.push(name);
  return row;
}

// A browser that comes back fills in the fields of the page, not those that were added: one of the page keeps them.
function keepRows() {
  const rows = made.map((name) => [name, PARTS.map((part) => fieldOf(name, part).value)]);
  kept.value = JSON.stringify(rows.filter(([, texts]) => texts.some(Boolean)));
}

function bringBackRows() {
  for (const [name, texts] of JSON.parse(kept.value || "[]")) {
    if (!fieldOf(name, "key")) {
      addRow(name).hidden = false;
      PARTS.forEach((part, at) => { fieldOf(name, part).value = texts[at]; });
    }
  }
}

function isMatch(row, text) {
  return row.querySelector(".key").textContent.toLowerCase().includes(text);
}

function filterRows() {
  const text = filter.value.toLowerCase();
  const rows = [...document.getElementById("old").rows];
  for (const row of rows) {
    row.hidden = row.dataset.out !== undefined || !isMatch(row, text);
  }
  const left = rows.filter((row) => !row.hidden).length;
  document.getElementById("none").hidden = left > 0 || rows.length === 0;
  const count = document.getElementById("matches");
  if (count) {
    count.textContent = count.textContent.replace(/^\d+/, left);
  }
}

// As the server's: 32 bytes in 43 characters that are safe in a URL.
function random() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function generate(button) {
  const field = button.closest(".well").querySelector("textarea");
  field.value = random();
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
}

// A row of many has no menu of its own until it is asked for.
function drawMenu(button) {
  const row = button.closest("tr");
  const made = document.getElementById("row-menu").content.cloneNode(true);
  for (const element of made.querySelectorAll("*")) {
    for (const attribute of element.attributes) {
      attribute.value = attribute.value.replaceAll("{key}", button.value);
    }
  }
  row.querySelector(".meta").append(...made.querySelectorAll(".flag, .keep"));
  const menu = made.querySelector("details");
  button.replaceWith(made);
  menu.open = true;
  menu.querySelector("summary").focus();
}

function begin() {
  if (newRows) {
    bringBackRows();
  }
  for (const row of edits.querySelectorAll("tr.old, tr.new")) {
    markRow(row);
    if (row.classList.contains("new") && rowOfKey(row)) {
      tellTaken(row);
    }
  }
  picked();
  if (newRows) {
    showNewRows();
  }
  tellStaged();
}

function picked() {
  const { length } = edits.querySelectorAll(".pick input:checked");
  count("n-picked", String(length));
  edits.classList.toggle("picked", length > 0);
}

for (const row of document.getElementById("old").querySelectorAll("tr[hidden]")) {
  if (!filter.value || isMatch(row, filter.value.toLowerCase())) {
    row.dataset.out = "";
  }
}
edits.addEventListener("input", (event) => {
  const row = event.target.closest("tr.old, tr.new");
  if (row) {
    update(row);
  }
  if (event.target.matches(".nk")) {
    tellTaken(row);
  }
  if (row?.classList.contains("new")) {
    showNewRows();
    clearTimeout(keeping);
    keeping = setTimeout(keepRows, 400);
  }
  if (event.target.closest(".pick")) {
    picked();
  }
});
edits.addEventListener("masked", (event) => update(event.target.closest("tr")));
edits.addEventListener("click", (event) => {
  const link = event.target.closest(".taken a");
  if (link) {
    event.preventDefault();
    editTaken(link.closest("tr"));
  }
  const button = event.target.closest("button[name=generate], button[name=menu]");
  if (button) {
    event.preventDefault();
    (button.name === "menu" ? drawMenu : generate)(button);
  }
});
filter.addEventListener("input", filterRows);
document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
if (newRows) {
  window.addEventListener("beforeunload", keepRows);
}
window.addEventListener("pageshow", begin);
begin();
