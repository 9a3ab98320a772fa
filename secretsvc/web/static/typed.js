// A page that answers a form is drawn anew when Back leads to it, without what was typed there. The tab keeps that, by
// what the page came after in its history, but no value of a secret: choices, which the page offers itself, and the text
// of fields that say that they are plain. It keeps them beside `history.state`: where a script sets that, the browser
// forgets that the page answers a form.
const PLAIN = "form[method=post] :is([data-plain], select, [type=checkbox], [type=radio])";

// A browser that has asked whether to send the form again takes the page for another, and drops the first of many: of
// what it knows, only what the page came after stays the same.
function storedAs() {
  const before = navigation.entries()[navigation.currentEntry.index - 1];
  return `typed after ${before?.key ?? "nothing"}`;
}

function isChoice(one) {
  return one.type === "checkbox" || one.type === "radio";
}

function isTouched(one) {
  if (one.matches("select")) {
    return [...one.options].some((option) => option.selected !== option.defaultSelected);
  }
  return isChoice(one) ? one.checked !== one.defaultChecked : one.value !== one.defaultValue;
}

// Several forms of a page may have a field of the same name, and several choices always do.
function nameOf(one) {
  return JSON.stringify([one.form.getAttribute("action"), one.name, isChoice(one) ? one.value : ""]);
}

function fields() {
  return [...document.querySelectorAll(PLAIN)].filter((one) => one.name && one.form);
}

function keep() {
  const touched = fields().filter(isTouched).map((one) => [nameOf(one), isChoice(one) ? one.checked : one.value]);
  if (touched.length) {
    sessionStorage.setItem(storedAs(), JSON.stringify({ path: location.pathname, touched }));
  } else {
    sessionStorage.removeItem(storedAs());
  }
}

function fill(one, kept) {
  if (isChoice(one)) {
    // One of several gives way to the one that was chosen, if that is still there.
    one.checked = kept || (one.type === "radio" && one.checked);
  } else if (!one.matches("select") || [...one.options].some((option) => option.value === kept)) {
    one.value = kept;
  }
  one.dispatchEvent(new Event("input", { bubbles: true }));
}

function bringBack() {
  const { path, touched } = JSON.parse(sessionStorage.getItem(storedAs()) ?? "{}");
  const kept = new Map(path === location.pathname ? touched : []);
  fields().filter((one) => kept.has(nameOf(one))).forEach((one) => fill(one, kept.get(nameOf(one))));
}

if (window.navigation) {
  // What is kept for a page that one comes to for the first time was typed into another.
  if (["reload", "traverse"].includes(navigation.activation?.navigationType)) {
    // By then all others listen.
    document.addEventListener("DOMContentLoaded", bringBack);
  }
  window.addEventListener("pagehide", keep);
}
