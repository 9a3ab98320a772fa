// Says in one sentence what the panel that gives access would give, while it is being filled in.
"use strict";
(() => {
  const sentence = document.getElementById("sentence");
  const form = sentence?.closest("form");
  if (!form) return;
  const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December"];
  const two = (number) => String(number).padStart(2, "0");
  const day = (time) => {
    const year = time.getUTCFullYear() === new Date().getUTCFullYear() ? "" : ` ${time.getUTCFullYear()}`;
    return `${time.getUTCDate()} ${months[time.getUTCMonth()]}${year}, ` +
      `${two(time.getUTCHours())}:${two(time.getUTCMinutes())} UTC`;
  };

  const until = () => {
    const typed = form.elements.expires_at.value;
    if (typed) return ` until ${day(new Date(`${typed}Z`))}`;
    const length = form.querySelector("[name=until]:checked")?.dataset.length;
    return length && length !== "None" ? ` until ${day(new Date(Date.now() + Number(length)))}` : ", without an end";
  };

  const where = () => {
    const choice = form.querySelector("[name=scope]:checked");
    if (choice) return [choice.dataset.where, choice.dataset.values || "every value"];
    const option = form.elements.scope?.selectedOptions?.[0];
    return option?.value ? [option.value === "*" ? "in every project" : `in ${option.text}`, "every value"] : null;
  };

  const draw = () => {
    const who = form.elements.holder ? form.elements.holder.value.trim() : sentence.dataset.who;
    const role = form.querySelector("[name=role]:checked");
    const within = where();
    sentence.hidden = !(who && role && within);
    if (sentence.hidden) return;
    const [strong, rest] = [sentence.querySelector("strong"), sentence.querySelector("span")];
    strong.textContent = `${who} will be able to ${role.dataset.does.replace("{}", within[1])}`;
    rest.textContent = `${within[0]}${until()}.`;
  };
  form.addEventListener("input", draw);
})();
