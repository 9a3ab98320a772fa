// Reveal and copy: one request, and so one record in the audit log, each. What is shown is masked again
// after a while, when the page is hidden or left, and by Escape.
const SHOWN_MS = 30000;
const shown = new Map();

function say(text) {
  document.getElementById("announcer").textContent = text;
}

// What is to be done about an answer that is no value, by its status.
const NEXT = {
  401: "Your session may have ended: open this page in another tab to sign in again, then repeat.",
  403: "Ask an administrator for a grant.",
  404: "It may have been deleted or renamed meanwhile, or your access has ended: reload the page.",
  429: "Wait a moment, then try again.",
};

async function read(button, reason) {
  const { path, key } = button.closest(".value").dataset;
  let answer, body;
  try {
    answer = await fetch(`${path}?reason=${reason}`, { cache: "no-store", redirect: "error" });
    body = await answer.json();
  } catch {
    // A proxy that wants somebody to sign in leads elsewhere, or answers with a page.
    throw new Error(`${key}: no answer. ${NEXT[401]}`);
  }
  if (!answer.ok) {
    throw new Error([`${key}: ${body.message}`, body.hint, NEXT[answer.status]].filter(Boolean).join(" "));
  }
  return body.value;
}

// A failure stands where it was met, until the next attempt there.
function warn(cell, text) {
  clear(cell);
  const notice = document.createElement("p");
  notice.className = "notice problem";
  notice.setAttribute("role", "alert");
  notice.textContent = text;
  cell.append(notice);
}

function clear(cell) {
  cell.querySelector(".notice")?.remove();
}

// The label that is heard says the same as the text that is seen.
function name(button, text) {
  if (button.hasAttribute("aria-label")) {
    button.setAttribute("aria-label", button.getAttribute("aria-label").replace(button.textContent, text));
  }
  button.textContent = text;
}

function hide(cell) {
  const { button, mask, timer } = shown.get(cell);
  clearTimeout(timer);
  shown.delete(cell);
  cell.querySelector(".mask").textContent = mask;
  cell.querySelector(".mask").classList.remove("shown");
  name(button, "Reveal");
}

function hideAll() {
  [...shown.keys()].forEach(hide);
}

async function toggle(button) {
  const cell = button.closest(".value");
  if (shown.has(cell)) {
    hide(cell);
    return;
  }
  const value = await read(button, "reveal");
  if (document.hidden || shown.has(cell)) {
    return;
  }
  const mask = cell.querySelector(".mask");
  const timer = setTimeout(() => hide(cell), SHOWN_MS);
  shown.set(cell, { button, mask: mask.textContent, timer });
  mask.textContent = value;
  mask.classList.add("shown");
  name(button, "Mask");
  say(`${cell.dataset.key} is shown for 30 seconds.`);
}

async function copy(button) {
  const cell = button.closest(".value");
  const value = await read(button, "copy");
  try {
    await navigator.clipboard.writeText(value);
  } catch {
    throw new Error(`${cell.dataset.key}: the browser does not let this page write to the clipboard.`);
  }
  say(`${cell.dataset.key} was copied.`);
  name(button, "Copied");
  setTimeout(() => name(button, "Copy"), 2000);
}

// Nothing is asked for that could not be put anywhere.
function forbidCopying(buttons) {
  const note = document.createElement("p");
  note.id = "no-copy";
  note.className = "help";
  note.textContent = "Nothing can be copied here: browsers offer the clipboard only to pages that come by https.";
  document.querySelector("#main h1").after(note);
  for (const button of buttons) {
    button.disabled = true;
    button.title = note.textContent;
    button.setAttribute("aria-describedby", note.id);
  }
}

if (!navigator.clipboard) {
  const buttons = document.querySelectorAll(".copy");
  if (buttons.length) {
    forbidCopying(buttons);
  }
}

document.documentElement.classList.add("scripted");
document.addEventListener("click", (event) => {
  const button = event.target.closest(".value button");
  if (!button) {
    return;
  }
  event.preventDefault();
  const cell = button.closest(".value");
  const act = button.classList.contains("copy") ? copy : toggle;
  clear(cell);
  act(button).catch((problem) => warn(cell, problem.message));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    hideAll();
  }
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    hideAll();
  }
});
window.addEventListener("pagehide", hideAll);
