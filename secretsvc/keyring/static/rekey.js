// Moves all rows to the active key through the API, one page after the other, until none is left.
const form = document.getElementById("rekey-form");
const start = document.getElementById("rekey-all");
const stop = document.getElementById("rekey-stop");
const problem = document.getElementById("rekey-problem");
const bar = document.getElementById("rekey-bar");
const count = document.getElementById("remaining");
const moved = document.getElementById("moved");
const share = document.getElementById("share");
const announcer = document.getElementById("announcer");
const controls = form ? [form.elements.limit] : [];
const SESSION_ENDED = "Your session may have ended. Reload the page to sign in again, then go on: what was moved stays moved.";
const WORDS = {
  DECRYPT_FAILED: "An envelope of this page cannot be decrypted, so the page was not moved. The command “secretsvc-server verify” names such envelopes; write or delete those secrets, then go on.",
  UNKNOWN_KID: "An envelope of this page was sealed by a master key that is not loaded. Load it as MASTER_KEY_OLD, then go on.",
  UNAUTHENTICATED: SESSION_ENDED,
  FORBIDDEN: "You may no longer do this: it needs a global admin role.",
};
let stopped = false;

async function movePage() {
  const answer = await fetch(form.dataset.url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ limit: Number(form.elements.limit.value) }),
    redirect: "manual",
  });
  if (answer.status === 429) {
    await new Promise((done) => setTimeout(done, 1000 * Number(answer.headers.get("Retry-After") || 1)));
    return { rekeyed: 1, remaining: bar.max - bar.value };
  }
  // A proxy that wants a new sign-in leads elsewhere, or answers with a page of its own.
  if (answer.type === "opaqueredirect" || !answer.headers.get("Content-Type")?.startsWith("application/json")) {
    throw new Error(SESSION_ENDED);
  }
  const body = await answer.json();
  if (!answer.ok) {
    throw new Error(`${WORDS[body.code] ?? body.message} (request id ${body.request_id})`);
  }
  return body;
}

function show(remaining) {
  bar.max = Math.max(bar.max, remaining);
  bar.value = bar.max - remaining;
  moved.textContent = bar.value.toLocaleString("en");
  count.textContent = remaining.toLocaleString("en");
  share.textContent = `${Math.floor((100 * bar.value) / bar.max)} %`;
  announcer.textContent = `${remaining} envelopes remain.`;
}

function busy(yes) {
  controls.forEach((control) => { control.disabled = yes; });
  start.hidden = yes;
  stop.hidden = !yes;
  (yes ? stop : start).focus();
}

async function moveAll() {
  stopped = false;
  problem.hidden = true;
  busy(true);
  try {
    let page = { rekeyed: 1, remaining: 1 };
    while (page.remaining > 0 && page.rekeyed > 0 && !stopped) {
      page = await movePage();
      show(page.remaining);
    }
    // The page as it is now, with the answer to what may be removed; the address loses an older notice.
    location.assign(location.pathname.replace(/rekey$/, "keyring"));
  } catch (error) {
    problem.textContent = error instanceof TypeError ? `The service cannot be reached. ${SESSION_ENDED}` : error.message;
    problem.hidden = false;
    busy(false);
  }
}

if (form) {
  document.getElementById("rekey-page").hidden = true;
  start.hidden = false;
  start.addEventListener("click", moveAll);
  stop.addEventListener("click", () => { stopped = true; });
}
