// The filters of a table of keys: the text hides rows as it is typed, and selects need no button.
const text = document.getElementById("q");
const none = document.getElementById("no-match");
const groups = [...document.querySelectorAll(".counted tbody")].map((body) => ({
  body,
  rows: [...body.querySelectorAll("tr[id]")].map((row) => ({
    row,
    key: row.id.replace("key-", "").toLowerCase(),
    pick: row.querySelector(".pick input"),
  })),
}));

// What is ticked stays in sight, so that nothing is copied that is not shown.
function filter() {
  const wanted = text.value.trim().toLowerCase();
  let shown = 0;
  for (const { body, rows } of groups) {
    let left = 0;
    for (const { row, key, pick } of rows) {
      row.hidden = !key.includes(wanted) && !pick?.checked;
      left += row.hidden ? 0 : 1;
    }
    body.hidden = left === 0;
    shown += left;
  }
  none.hidden = shown > 0;
}

if (text && none) {
  text.addEventListener("input", filter);
  text.addEventListener("keydown", (event) => {
    // All rows are here: to ask for them once more would only take the ticks away.
    if (event.key === "Enter" && text.defaultValue === "") {
      event.preventDefault();
    }
  });
}
for (const field of document.querySelectorAll(".tools select, .tools input[type=checkbox]")) {
  field.addEventListener("change", () => field.form.requestSubmit());
}
