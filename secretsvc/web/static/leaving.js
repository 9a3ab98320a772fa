// What is typed is not lost by accident: a page with any of it, in a panel or in a form that says so, is not left
// without a question.
const forms = [...document.querySelectorAll("form[data-guard], form.panel")];
const LEAVING_MS = 10_000;
let leaving = false;

// A field of one line has lost the line breaks of what it was given.
function onOneLine(text) {
  return text.replace(/[\r\n]/g, "");
}

function isTouched(one) {
  if (one.type === "checkbox" || one.type === "radio") {
    return one.checked !== one.defaultChecked && !one.name.startsWith("pick.");
  }
  if (one.type === "hidden" || one.classList.contains("open") || !one.matches("input, textarea")) {
    return false;
  }
  const same = one.matches("textarea") ? (text) => text : onOneLine;
  return same(one.value) !== same(one.defaultValue);
}

function isDirty(form) {
  // What was typed before a refusal is drawn as if it had always been there.
  return "typed" in form.dataset || [...form.elements].some(isTouched);
}

function leave() {
  leaving = true;
  // Whoever has stopped the browser is still here.
  setTimeout(stay, LEAVING_MS);
}

function stay() {
  leaving = false;
}

if (forms.length) {
  // All others who listen have said by now whether it is to be sent.
  window.addEventListener("submit", (event) => {
    if (!event.defaultPrevented && forms.includes(event.target)) {
      leave();
    }
  });
  window.addEventListener("pageshow", stay);
  // The page's policy has kept it from being sent: the session has ended.
  document.addEventListener("securitypolicyviolation", stay);
  document.querySelectorAll("a[data-discards]").forEach((one) => one.addEventListener("click", leave));
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && forms.some(isDirty)) {
      event.preventDefault();
    }
  });
}
