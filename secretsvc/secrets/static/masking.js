// All values as text are masked again after a while without typing, and when the page is hidden. Nothing is
// reloaded, so that nothing that was typed is lost.
const SHOWN_SECONDS = 30;
const content = document.getElementById("content");
const told = document.getElementById("masking");
let left = SHOWN_SECONDS;

function showText() {
  left = SHOWN_SECONDS;
  content.hidden = false;
  tell();
}

function mask() {
  content.hidden = true;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn s";
  button.textContent = "Show again";
  button.addEventListener("click", () => {
    showText();
    content.focus();
  });
  told.replaceChildren("Masked. What you typed is kept. ", button);
}

function tell() {
  told.textContent = `Masked again in ${left} ${left === 1 ? "second" : "seconds"} without typing.`;
}

if (content) {
  tell();
  content.addEventListener("input", () => {
    left = SHOWN_SECONDS;
    tell();
  });
  setInterval(() => {
    if (content.hidden) {
      return;
    }
    left -= 1;
    if (left > 0) {
      tell();
    } else {
      mask();
    }
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && !content.hidden) {
      mask();
    }
  });
}
