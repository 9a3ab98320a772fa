"""The page of operations, without JavaScript: the key ring, rekeying, the limits."""

from __future__ import annotations

import re

import limits
import pytest
from pages import Browser, submit
from resource_fields import log
from rotation import NEW_KEY, NEXT_KEY, fill, rotated
from secrets_client import Vault
from service import MASTER_KEY, arrange
from statements import recorded

from secretsvc.db.engine import write_transaction
from secretsvc.kernel.clock import now_ms
from secretsvc.keyring.ui import rate_text
from secretsvc.sealedlog.retention.prune import record_exported_size
from secretsvc.transparency.signed_note import Checkpoint

ADA = "ada@example.com"


def keys(page):
    rows = page.html.find("section", {"aria-labelledby": "ring"}).tbody.find_all("tr")
    return [[" ".join(cell.text.split()) for cell in row.find_all(["th", "td"])] for row in rows]


def answer(page):
    """What the page says first: the rotation while one runs, else how the ring stands."""
    return " ".join(page.html.main.find(class_="stack").text.split())


@pytest.mark.slow
def test_the_ring_stands_with_its_rows_and_what_to_do_next(service, admin):
    fill(admin)
    page = Browser(service).open("/admin/keyring")
    ((kid, *rest),) = keys(page)
    assert re.fullmatch("[0-9a-f]{16}", kid)
    assert rest == ["active", "just now", "9", "–"]
    assert "There is nothing to do" in answer(page)
    turned = Browser(rotated(service)).open("/admin/keyring")
    assert [row[1:] for row in keys(turned)] == [
        ["active", "not yet", "0", "–"],
        ["old", "just now", "9", "No, 9 left"],
    ]
    assert answer(turned).startswith("Rotation of the master key From ")
    assert "not safe to remove MASTER_KEY_OLD until 0 remain" in answer(turned)
    lost = Browser(service.restarted(MASTER_KEY=NEW_KEY)).open("/admin/keyring")
    assert keys(lost)[1][1:] == ["not loaded", "just now", "9", "No, 9 envelopes need it"]
    assert answer(lost).startswith(
        "9 envelopes cannot be opened: the master key that sealed them is not loaded"
    )
    assert lost.html.find(id="rekey-form") is None


def test_rows_are_moved_page_by_page_by_the_form(service, admin):
    fill(admin, 80)
    turned = rotated(service)
    page = Browser(turned).open("/admin/keyring")
    assert page.html.find(id="remaining").text == "159"
    assert page.html.find(id="rekey-bar")["max"] == "159"
    page = submit(page, "/admin/rekey", limit="100")
    assert page.request.path == "/admin/keyring"
    assert "Moved envelopes" in page.html.find(role="status").text
    assert page.html.find(id="remaining").text == "59"
    page = submit(page, "/admin/rekey", limit="1000")
    assert "No value needs the old key" in answer(page)
    assert page.html.find(id="rekey-form") is None
    assert [row[1:2] + row[3:] for row in keys(page)] == [["active", "159", "–"], ["old", "0", "Yes"]]
    assert len(service.audit("keyring.rekey")) == 2
    assert turned.user().get("/projects/shop/environments/prod/secrets/KEY_1").json["value"] == "two"


@pytest.mark.parametrize("limit", ["0", "1001", "", "ten"])
def test_a_page_that_is_too_large_or_none_is_refused(service, admin, limit):
    fill(admin)
    browser = Browser(rotated(service))
    token = browser.open("/admin/keyring").html.find("input", {"name": "csrf"})["value"]
    page = browser.post("/admin/rekey", {"csrf": token, "limit": limit}, status=422)
    assert "Envelopes at a time: Must be" in page.html.find(role="alert").text
    assert page.html.find(id="remaining").text == "9"


def test_a_row_that_cannot_be_opened_stops_the_page_and_is_an_error_in_words(service, admin):
    fill(admin)
    lost = service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=NEW_KEY)
    browser = Browser(lost)
    token = browser.open("/projects?new").html.find("input", {"name": "csrf"})["value"]
    page = browser.post("/admin/rekey", {"csrf": token, "limit": "500"}, status=500)
    assert "master key" in page.html.find("main").text
    assert not service.audit("keyring.rekey")


def test_the_form_needs_its_token(service, admin):
    fill(admin)
    page = Browser(rotated(service)).post("/admin/rekey", {"limit": "100"}, status=403)
    assert "too old, or not yours" in page.text
    assert not service.audit("keyring.rekey")


@pytest.mark.parametrize(("role", "scope"), [("writer", "global"), ("admin", "shop")])
def test_only_a_global_admin_has_the_page_and_its_form(service, admin, role, scope):
    service.grant(ADA, role, scope)
    browser = Browser(service, ADA)
    browser.open("/admin/keyring", 403)
    browser.post("/admin/rekey", {"limit": "100"}, status=403)
    assert browser.open("/").html.find("a", href="/admin/keyring") is None
    assert {row["action"] for row in service.denials()} == {"authz.global.admin"}


@pytest.mark.parametrize(
    ("notation", "text"), [("1/hour", "1 an hour"), ("20/5 second", "20 in 5 seconds"), (None, "no limit")]
)
def test_a_rate_is_told_in_words(notation, text):
    assert rate_text(notation and limits.parse(notation)) == text


def test_the_limits_in_force_the_version_and_the_database_are_told(make_service):
    service = make_service(
        SECRET_MAX_BYTES="1234", ENV_MAX_SECRETS="77", RATE_LIMIT="5000/minute", DENIAL_LIMIT=""
    )
    page = Browser(service).open("/admin/keyring")
    table = page.html.find("section", {"aria-labelledby": "limits"}).tbody
    rows = {row.find("code").text: row.find_all("td")[-1].text for row in table.find_all("tr")}
    assert rows == {
        "SECRET_MAX_BYTES": "1.2 KiB",
        "ENV_MAX_SECRETS": "77",
        "BODY_MAX_BYTES": "1 MiB",
        "RATE_LIMIT": "5,000 a minute",
        "WRITE_LIMIT": "64 MiB a day",
        "IDENTITY_LIMIT": "100 a day",
        "DENIAL_LIMIT": "no limit",
    }
    assert "counted by each process alone" in table.text
    about = page.html.select_one(".head p").text
    assert ("SQLite" if service.engine.name == "sqlite" else "PostgreSQL") in about
    assert re.search(r"secretsvc \d+\.\d+", about)
    assert MASTER_KEY not in page.text


def test_the_script_is_a_file_and_the_entry_of_the_navigation_is_marked(service, admin):
    page = Browser(service).open("/admin/keyring")
    sources = [script["src"] for script in page.html.find_all("script")]
    assert any(source.startswith("/static/keyring/rekey.js?") for source in sources)
    script = Browser(service).open(next(one for one in sources if "rekey.js" in one))
    assert "innerHTML" not in script.text
    links = page.html.find("nav", {"aria-label": "Organisation"}).find_all("a")
    assert [link.text for link in links if link.get("aria-current")] == ["Operations"]
    assert [link["href"] for link in links][-1] == "/admin/keyring"


def test_the_fullest_environment_is_measured_against_its_limit(make_service):
    service = make_service(ENV_MAX_SECRETS="4")
    admin = arrange(service, "shop", "prod", "dev")
    Vault(admin).set(A="1", B="1", C="1", D="1")
    Vault(admin, "/projects/shop/environments/dev").set(A="1")
    page = Browser(service).open("/admin/keyring")
    row = page.html.find("section", {"aria-labelledby": "limits"}).tbody.tr
    assert " ".join(row.td.text.split()) == "4 in Shop / Prod"
    assert row.a["href"] == "/projects/shop/environments/prod"
    assert (row.progress["value"], row.progress["class"]) == ("100", ["warn"])


def test_a_key_that_was_retired_and_removed_is_listed_still(service, admin):
    fill(admin)
    rotated(service).user().post("/admin/rekey", {"limit": 1000})
    page = Browser(service.restarted(MASTER_KEY=NEW_KEY)).open("/admin/keyring")
    gone = keys(page)[1]
    assert (gone[1], gone[2], gone[4]) == ("retired", "just nowretired just now", "Removed")


@pytest.mark.both_engines
def test_the_page_takes_five_statements(make_service):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    browser = Browser(service)
    browser.open("/admin/keyring")
    with recorded(service.engine) as statements:
        browser.open("/admin/keyring")
    assert len(statements) == 5


def test_the_state_of_the_sealed_log_is_told_with_its_checkpoint_and_its_export(service, admin):
    def state():
        page = Browser(service).open("/admin/keyring")
        lines = page.html.find("section", {"aria-labelledby": "health"}).find_all("li")
        return page, [" ".join(line.text.split()) for line in lines]

    page, lines = state()
    assert "Audit logNothing is sealed yet" in lines[3]
    assert "None yet" in lines[4]
    fill(admin)
    while service.app.registry.audit_sealer.step():
        pass
    count = len(service.audit())
    page, lines = state()
    assert f"Audit log{count} records sealed, last just now" in lines[3]
    assert "waits" not in lines[3]
    link = page.html.find("a", href="/api/v1/audit/checkpoint")
    assert (link.text, link["download"]) == ("Download the checkpoint", "checkpoint")
    log(service, 1, created_at=now_ms() - 7_200_000)
    with write_transaction(service.engine) as connection:
        record_exported_size(connection, Checkpoint("secretsvc", count - 1, bytes(32)), now_ms() - 7_200_000)
    _, lines = state()
    assert "The oldest that waits is of 2 h ago" in lines[3]
    assert lines[4] == f"Export of the audit log{count - 1} records, last 2 h ago"
