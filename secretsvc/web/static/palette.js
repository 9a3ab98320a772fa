// The search over the page that one is on: what the search page finds, as one types, reached by the arrows.
const WAIT_MS = 120;
const LIMIT = 20;
const SHORTEST = 2;
// Only the page knows the words that narrow a search.
const NARROWED = /(^| )(in|env):/;
const NO_ANSWER = "No answer. Your session may have ended: open this page in another tab to sign in again.";
const palette = document.getElementById("palette");
const field = palette.querySelector("input");
const list = palette.querySelector("ul");
const state = palette.querySelector("[role=status]");
let timer = 0;
let latest = 0;

function address({ kind, project, environment, key }) {
  const path = `/projects/${project}`;
  if (kind === "project") {
    return path;
  }
  return `${path}/environments/${environment}${kind === "secret" ? `/secrets/${key}` : ""}`;
}

function row(found) {
  const link = document.createElement("a");
  link.href = address(found);
  const name = document.createElement("b");
  name.textContent = found.key ?? found.name;
  name.className = found.key ? "key" : "";
  const scope = document.createElement("small");
  scope.textContent = found.key ? `${found.project} / ${found.environment}` : found.kind;
  link.append(name, scope);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

function show(text, items) {
  list.replaceChildren(...items.slice(0, LIMIT).map(row));
  state.textContent = text;
}

async function search(text) {
  const turn = ++latest;
  let body;
  try {
    const query = new URLSearchParams({ q: text, limit: LIMIT });
    const answer = await fetch(`/api/v1/search?${query}`, { cache: "no-store", redirect: "error" });
    body = await answer.json();
  } catch {
    // A proxy that wants somebody to sign in leads elsewhere, or answers with a page.
    body = {};
  }
  if (turn !== latest) {
    return;
  }
  const items = body.items ?? [];
  const counted = items.length ? `${items.length} found` : "Nothing that you may see has this in its name";
  show(body.items ? counted : body.message ?? NO_ANSWER, items);
}

function open() {
  palette.showModal();
  field.select();
}

// Up and down go round through the field and what was found.
function move(step) {
  const stops = [field, ...list.querySelectorAll("a")];
  const at = stops.indexOf(document.activeElement);
  stops[(at + step + stops.length) % stops.length].focus();
}

field.addEventListener("input", () => {
  clearTimeout(timer);
  const text = field.value.trim();
  if (NARROWED.test(text)) {
    latest += 1;
    show("Press Enter to search for this.", []);
  } else if (text.length >= SHORTEST) {
    timer = setTimeout(search, WAIT_MS, text);
  } else {
    latest += 1;
    show("", []);
  }
});

palette.addEventListener("keydown", (event) => {
  // A search field would take the first one for itself, to be emptied.
  if (event.key === "Escape") {
    event.preventDefault();
    palette.close();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    move(step);
  }
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog");
  const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
  const quick = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
  if ((slash || quick) && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    open();
  }
});
