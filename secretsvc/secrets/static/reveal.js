// Reveal and copy: one request, and so one record in the audit log, each. What is shown is masked again
// after a while, when the page is hidden or left, and by Escape.
const SHOWN_MS = 30000;
const shown = new Map();

function say(text) {
  document.getElementById("announcer").textContent = text;
}

async function read(button, reason) {
  const { path, key } = button.closest(".value").dataset;
  let answer;
  try {
    answer = await fetch(`${path}?reason=${reason}`, { cache: "no-store", redirect: "error" });
  } catch {
    throw new Error("No answer: your session may have ended. Reload the page.");
  }
  const document_ = await answer.json();
  if (!answer.ok) {
    throw new Error(`${key}: ${document_.message}`);
  }
  return document_.value;
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
  await navigator.clipboard.writeText(await read(button, "copy"));
  say(`${cell.dataset.key} was copied.`);
  name(button, "Copied");
  setTimeout(() => name(button, "Copy"), 2000);
}

document.documentElement.classList.add("scripted");
document.addEventListener("click", (event) => {
  const button = event.target.closest(".value button");
  if (!button) {
    return;
  }
  event.preventDefault();
  const act = button.classList.contains("copy") ? copy : toggle;
  act(button).catch((problem) => say(problem.message));
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
