// A form is not sent where it would be refused for its size: what was typed stays.
const form = document.querySelector("form[data-guard]");

document.documentElement.classList.add("scripted");

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

form?.addEventListener("submit", (event) => {
  if (isTooLarge()) {
    event.preventDefault();
  }
});
