// Copies a token that stands in a field, and says beside the button whether it could.
"use strict";
for (const button of document.querySelectorAll("button[data-copies]")) {
  const field = document.getElementById(button.dataset.copies);
  const said = document.getElementById(`${button.dataset.copies}-said`);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(field.value);
      said.textContent = "Copied.";
    } catch {
      field.select();
      said.textContent = "The browser does not let this page copy. The token is selected: copy it by hand.";
    }
  });
}
