// Where a session has ended, the access proxy sends a form to another site, which the page's policy refuses:
// the browser then does nothing at all, and somebody has to say why.
document.addEventListener("securitypolicyviolation", (event) => {
  if (event.effectiveDirective === "form-action") {
    document.getElementById("announcer").textContent = "";
    const notice = document.createElement("p");
    notice.className = "note warn";
    notice.setAttribute("role", "alert");
    notice.textContent =
      "Your session may have ended. Open this page in another tab to sign in again, then repeat: nothing typed here "
      + "is lost.";
    // Behind a panel the page is inert.
    (document.querySelector("form.panel .body") ?? document.getElementById("main")).prepend(notice);
  }
});

// A form is sent once: the second click of two would do it again, or show a refusal in place of what was done.
// Whoever has stopped the browser may send it again after a while.
const SENT_MS = 10_000;
let sent = new WeakSet();

// All others who listen have said by now whether it is to be sent.
window.addEventListener("submit", (event) => {
  const form = event.target;
  // What a download answers leaves the page as it is.
  if (event.defaultPrevented || form.method !== "post" || "repeatable" in form.dataset) {
    return;
  }
  if (sent.has(form)) {
    event.preventDefault();
    return;
  }
  const known = sent;
  known.add(form);
  setTimeout(() => known.delete(form), SENT_MS);
});

function forget() {
  sent = new WeakSet();
}

window.addEventListener("pageshow", forget);
document.addEventListener("securitypolicyviolation", forget);

// What was done is told once: not again where the page is loaded anew. What else the address says of a write goes
// with it; filters stay.
const TOLD = /^.*[?&](saved|rolled_back|renamed|restored)=.*$|(?<=[?&])done=[^&]*&?/;
if (TOLD.test(location.search)) {
  const kept = location.search.replace(TOLD, "").replace(/[?&]$/, "");
  history.replaceState(history.state, "", location.pathname + kept + location.hash);
}
