// Shortcuts of every page; none of them works while something is typed. And menus, which a click elsewhere closes, or
// the Escape key.
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

function closeMenus(except) {
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    if (menu !== except) {
      // The focus would be lost with what has it.
      if (menu.contains(document.activeElement)) {
        menu.querySelector("summary").focus();
      }
      menu.open = false;
    }
  });
}

document.addEventListener("click", (event) => {
  // A button that gave way to its menu is in none.
  if (event.target.isConnected) {
    closeMenus(event.target.closest("details.menu"));
  }
});
document.addEventListener("keydown", (event) => event.key === "Escape" && closeMenus());
