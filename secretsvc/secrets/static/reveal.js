// Reveal and copy: one request, and so one record in the audit log, each. What is shown is masked again
// after a while, which is counted down beside it, when the page is hidden or left, and by Escape.
// A holder is a row of the editor, or an element `.value` that says its key and its path itself.
const SHOWN_SECONDS = 30;
// They change the direction in which the text after them is shown.
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const TURNED = " It turns the direction of text: its characters stand in another order than you see.";
const shown = new Map();
const waiting = new Set();

function say(text) {
  document.getElementById("announcer").textContent = text;
}

// What is to be done about an answer that is no value, by its status.
const SIGN_IN = "Your session may have ended: open this page in another tab to sign in again, then repeat.";
const NEXT = {
  401: SIGN_IN,
  403: "Ask an administrator for a grant.",
  404: "It may have been deleted or renamed meanwhile, or your access has ended: reload the page.",
  429: "Wait a moment, then try again.",
};

function holderOf(element) {
  return element.closest("tr.old, .value");
}

function keyOf(holder) {
  return holder.dataset.key ?? holder.querySelector(".key").textContent;
}

function pathOf(holder) {
  return holder.dataset.path ?? holder.closest("form").dataset.api + keyOf(holder);
}

// What kept the service from saying anything: a proxy that wants somebody to sign in leads elsewhere, or shows a page.
function silence(answer) {
  if (!answer) {
    return "the service cannot be reached. Check your connection, then try again.";
  }
  return answer.status >= 500 ? "the service does not answer. Wait a moment, then try again." : `no answer. ${SIGN_IN}`;
}

async function read(holder, reason) {
  const key = keyOf(holder);
  const url = `${pathOf(holder)}?reason=${reason}`;
  const answer = await fetch(url, { cache: "no-store", redirect: "manual" }).catch(() => null);
  const body = await answer?.json().catch(() => null);
  if (!body?.message && typeof body?.value !== "string") {
    throw new Error(`${key}: ${silence(answer)}`);
  }
  if (!answer.ok) {
    throw new Error([`${key}: ${body.message}`, body.hint, NEXT[answer.status]].filter(Boolean).join(" "));
  }
  return body.value;
}

// A line below the value; a failure stands there until the next attempt.
function tell(holder, text, kind) {
  holder.querySelectorAll(`:scope .${kind}`).forEach((line) => line.remove());
  if (!text) {
    return undefined;
  }
  const line = document.createElement("span");
  line.className = kind;
  if (kind === "told") {
    line.setAttribute("role", "alert");
  }
  line.textContent = text;
  (holder.querySelector("td.val") ?? holder).append(line);
  return line;
}

function revealButton(holder) {
  return [...holder.querySelectorAll("button")].find((one) => !isCopy(one) && one.name !== "menu");
}

// The label that is heard says the same as the text and the symbol that are seen.
function name(button, before, after) {
  for (const attribute of ["aria-label", "title"]) {
    if (button.hasAttribute(attribute)) {
      button.setAttribute(attribute, button.getAttribute(attribute).replace(before, after));
    }
  }
  const text = [...button.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.data.includes(before));
  if (text) {
    text.data = text.data.replace(before, after);
  }
}

function draw(button, before, after, symbols) {
  name(button, before, after);
  const use = button.querySelector("use");
  if (use && symbols) {
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${symbols}`));
  }
}

function hide(holder) {
  const { target, value, timer, before } = shown.get(holder);
  clearInterval(timer);
  shown.delete(holder);
  if (target.matches("textarea")) {
    // What was typed over it stays.
    if (target.value === value) {
      target.value = "";
    }
    target.defaultValue = "";
    target.classList.remove("open");
  } else if (before === null) {
    target.remove();
  } else {
    target.textContent = before;
    target.classList.remove("open", "shown");
    target.removeAttribute("tabindex");
  }
  tell(holder, "", "countdown");
  holder.querySelectorAll("td.val > .sub").forEach((line) => line.textContent.startsWith("Revealed") && line.remove());
  draw(revealButton(holder), "Mask", "Reveal", "eye");
  target.dispatchEvent(new Event("masked", { bubbles: true }));
}

function hideAll() {
  [...shown.keys()].forEach(hide);
}

// Where the value stands: in its field, or below it where something else was typed there.
function targetOf(holder) {
  const field = holder.querySelector("textarea.w");
  if (field && field.value === "") {
    return field;
  }
  if (field) {
    const line = document.createElement("code");
    line.className = "beside";
    holder.querySelector("td.val").append(line);
    return line;
  }
  return holder.querySelector(".mask");
}

function watch(holder, target, value, before) {
  let left = SHOWN_SECONDS;
  const turned = TURNING.test(value) ? TURNED : "";
  const told = () => `Revealed and recorded. Masked again in ${left} ${left === 1 ? "second" : "seconds"}.${turned}`;
  const line = tell(holder, told(), "countdown");
  line.classList.add("sub");
  const timer = setInterval(() => {
    left -= 1;
    line.textContent = told();
    if (left <= 0) {
      hide(holder);
    }
  }, 1000);
  shown.set(holder, { target, value, timer, before });
}

function showValue(holder, value) {
  const target = targetOf(holder);
  const before = target.matches(".mask") ? target.textContent : null;
  if (target.matches("textarea")) {
    target.value = value;
  } else {
    target.textContent = value;
    // A long one scrolls, by the keyboard too.
    target.tabIndex = 0;
  }
  target.classList.add("open", "shown");
  draw(revealButton(holder), "Reveal", "Mask", "eye-off");
  // A field has line feeds for all line ends: with these it is compared.
  watch(holder, target, target.value ?? value, before);
}

async function toggle(holder) {
  if (shown.has(holder)) {
    hide(holder);
    return;
  }
  const value = await read(holder, "reveal");
  if (document.hidden || shown.has(holder)) {
    return;
  }
  showValue(holder, value);
  say(`${keyOf(holder)} is shown for ${SHOWN_SECONDS} seconds.`);
}

async function copy(holder, button) {
  const value = await read(holder, "copy");
  try {
    await navigator.clipboard.writeText(value);
  } catch {
    throw new Error(`${keyOf(holder)}: the browser does not let this page write to the clipboard.`);
  }
  say(`${keyOf(holder)} was copied.`);
  draw(button, "Copy", "Copied", "check");
  setTimeout(() => draw(button, "Copied", "Copy", "copy"), 2000);
}

function isCopy(button) {
  return button.name === "copy" || button.classList.contains("copy");
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
  const buttons = document.querySelectorAll(".value .copy, tr.old [name=copy]");
  if (buttons.length) {
    forbidCopying(buttons);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".value[data-path] button, tr.old button:is([name=reveal], [name=mask], [name=copy])");
  if (!button) {
    return;
  }
  event.preventDefault();
  const holder = holderOf(button);
  // The second click of two would mask again, or be recorded as another look.
  if (event.detail > 1 || waiting.has(holder)) {
    return;
  }
  tell(holder, "", "told");
  waiting.add(holder);
  const done = isCopy(button) ? copy(holder, button) : toggle(holder);
  done.catch((problem) => tell(holder, problem.message, "told")).finally(() => waiting.delete(holder));
});
document.addEventListener("input", (event) => {
  const one = shown.get(holderOf(event.target));
  if (one && one.target === event.target) {
    one.target.classList.toggle("open", one.target.value === one.value);
  }
}, { capture: true });
document.addEventListener("submit", (event) => {
  // What was only looked at is not sent.
  if (event.target.id === "edits") {
    hideAll();
  }
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
// What the server has shown is watched like what was fetched.
for (const target of document.querySelectorAll("tr.old .open")) {
  const holder = holderOf(target);
  const isField = target.matches("textarea");
  holder.querySelectorAll("td.val > .sub").forEach((line) => line.textContent.startsWith("Revealed") && line.remove());
  watch(holder, target, isField ? target.value : target.textContent, isField ? null : "••••••••");
}
