// What is typed is not lost by accident: a page with any of it is not left without a question, and a form is
// not sent where it would be refused for its size.
const LEAVING_MS = 10_000;
const form = document.querySelector("form[data-guard]");
let leaving = false;

document.documentElement.classList.add("scripted");

// A field of one line has lost the line breaks of what it was given.
function onOneLine(text) {
  return text.replace(/[\r\n]/g, "");
}

function isTouched(one) {
  if (one.type === "checkbox" || one.type === "radio") {
    return one.checked !== one.defaultChecked && !one.name.startsWith("pick.");
  }
  if (one.classList.contains("open") || one.type === "hidden" || one.form !== form) {
    return false;
  }
  const same = one.matches("textarea") ? (text) => text : onOneLine;
  return same(one.value) !== same(one.defaultValue);
}

function isDirty() {
  // What was typed before a refusal is drawn as if it had always been there.
  return "typed" in form.dataset || [...form.querySelectorAll("input, textarea")].some(isTouched);
}

function warn(text) {
  document.getElementById("refused")?.remove();
  const note = document.createElement("p");
  note.id = "refused";
  note.className = "note bad";
  note.setAttribute("role", "alert");
  note.textContent = text;
  form.before(note);
  note.scrollIntoView({ block: "center" });
}

// As many bytes as the form will have, about.
function size() {
  let bytes = 0;
  for (const [name, value] of new FormData(form)) {
    bytes += name.length + 2 + (typeof value === "string" ? encodeURIComponent(value).length : value.size);
  }
  return bytes;
}

function isTooLarge() {
  const limit = Number(form.dataset.limit ?? Infinity);
  const bytes = limit === Infinity ? 0 : size();
  if (bytes <= limit) {
    return false;
  }
  const kilobytes = (number) => `${Math.ceil(number / 1024).toLocaleString("en")} KB`;
  warn(`This is ${kilobytes(bytes)}, and ${kilobytes(limit)} can be sent at once. Nothing is lost: take some of it `
    + "out, apply the rest, and go on with what is left.");
  return true;
}

if (form) {
  form.addEventListener("submit", (event) => {
    if (isTooLarge()) {
      event.preventDefault();
      return;
    }
    leaving = true;
    // Whoever has stopped the browser is still here.
    setTimeout(() => { leaving = false; }, LEAVING_MS);
  });
  window.addEventListener("pageshow", () => { leaving = false; });
  // The page's policy has kept it from being sent: the session has ended.
  document.addEventListener("securitypolicyviolation", () => { leaving = false; });
  document.getElementById("discard")?.addEventListener("click", () => { leaving = true; });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && isDirty()) {
      event.preventDefault();
    }
  });
}

// What was done is told once.
if (/[?&](saved|done)=/.test(location.search)) {
  history.replaceState(history.state, "", location.pathname + location.hash);
}
