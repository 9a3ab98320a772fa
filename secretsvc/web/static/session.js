// Where a session has ended, the access proxy sends a form to another site, which the page's policy refuses:
// the browser then does nothing at all, and somebody has to say why.
document.addEventListener("securitypolicyviolation", (event) => {
  if (event.effectiveDirective === "form-action") {
    document.getElementById("announcer").textContent = "";
    const notice = document.createElement("p");
    notice.className = "note warn";
    notice.setAttribute("role", "alert");
    notice.textContent =
      "Your session may have ended. Open this page in another tab to sign in again, then repeat: nothing typed here is lost.";
    document.getElementById("main").prepend(notice);
  }
});
