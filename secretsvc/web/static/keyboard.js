// Shortcuts of every page; none of them works while something is typed.
const help = document.getElementById("keys");
const FILTER = "main .find input";
let leader = false;

function focusOn(selector) {
  const target = document.querySelector(selector);
  target?.focus();
  return Boolean(target);
}

document.getElementById("show-keys")?.addEventListener("click", (event) => {
  event.preventDefault();
  help.showModal();
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (leader && event.key === "h") {
    location.assign("/");
  } else if (event.key === "?") {
    help.showModal();
  } else if (event.key === "f" && focusOn(FILTER)) {
    event.preventDefault();
  }
  leader = event.key === "g";
});
