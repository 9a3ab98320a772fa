// A file that is dropped or chosen becomes the text of the form, where it can be read before it is sent.
const content = document.getElementById("content");
const chosen = document.getElementById("file");
const format = document.getElementById("format");

// What the page read into the form itself gives way to another file without a question.
let taken = "";

function refuse(file) {
  const note = document.createElement("p");
  note.id = "unread";
  note.className = "note bad";
  note.setAttribute("role", "alert");
  note.textContent = `${file.name} was not read: it is no text in UTF-8.`;
  content.after(note);
}

async function textOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return null;
  }
}

async function take(file) {
  document.getElementById("unread")?.remove();
  const text = await textOf(file);
  chosen.value = "";
  if (text === null) {
    refuse(file);
    return;
  }
  if (![taken, ""].includes(content.value) && !confirm(`Replace what was typed by ${file.name}?`)) {
    return;
  }
  content.value = text;
  taken = content.value;
  const ending = file.name.split(".").pop();
  const known = Array.from(format.options).some((option) => option.value === ending);
  format.value = known ? ending : "env";
  document.getElementById("announcer").textContent = `${file.name} was read into the form.`;
  content.focus();
}

content.addEventListener("dragover", (event) => event.preventDefault());
content.addEventListener("drop", (event) => {
  const [file] = event.dataTransfer.files;
  if (file) {
    event.preventDefault();
    take(file);
  }
});
chosen.addEventListener("change", () => {
  if (chosen.files.length > 0) {
    take(chosen.files[0]);
  }
});
