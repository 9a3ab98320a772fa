// A file that is dropped or chosen becomes the text of the form, where it can be read before it is sent.
const content = document.getElementById("content");
const chosen = document.getElementById("file");
const format = document.getElementById("format");

async function take(file) {
  content.value = await file.text();
  const ending = file.name.split(".").pop();
  const known = Array.from(format.options).some((option) => option.value === ending);
  format.value = known ? ending : "env";
  chosen.value = "";
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
