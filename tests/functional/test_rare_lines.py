"""Lines of the log that an operator seldom meets: each is written when what it tells of happens."""

from __future__ import annotations

import re

from jwks_server import KeyServer
from key_cache import Clock, cache, outcome
from pages import Browser
from rotation import NEXT_KEY, adopt, fill, rotated
from service import Client, arrange
from waiting import eventually

from secretsvc.server.send_buffer import run_callbacks


def test_issuers_with_the_pair_of_another_are_told_and_lock_nobody_else_out(service, issuer, caplog):
    both = issuer.workload_environment("one") | issuer.workload_environment("two")
    # As the ini file names them.
    entries = {re.sub("_(ONE|TWO)_", r".\1.", name): value for name, value in both.items()}
    doubled = service.restarted(**entries, WORKLOAD_ISSUERS="one,two")
    Client(doubled.app, issuer.workload("job-1")).get("/whoami", 500)
    doubled.user().get("/whoami")
    told = "another issuer has a pair of settings WORKLOAD_{0}_ISSUER and WORKLOAD_{0}_AUDIENCE too"
    assert {told.format("ONE"), told.format("TWO")} <= {*caplog.messages}


def test_keys_that_cannot_be_kept_on_file_are_told_and_used(issuer, tmp_path, caplog):
    with KeyServer(issuer.jwks("rsa-1")) as server:
        keys = cache(server.url, Clock(), cache_file=tmp_path / "absent" / "keys.json")
        assert outcome(keys, "rsa-1") == "found"
        line = "the file of ACCESS_JWKS_CACHE was not written: FileNotFoundError"
        assert eventually(lambda: line in caplog.messages)


def test_digests_of_a_key_that_nothing_leads_to_any_more_are_told(service, caplog):
    fill(arrange(service, "shop", "prod"))
    first = service.app.registry.load_ring().active_kid
    adopt(rotated(service))
    adopt(service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=None))
    line = f"digests under the master key {first} can no longer be compared: UNKNOWN_KID"
    assert line in caplog.messages


def test_a_callback_that_fails_is_told_and_keeps_nobody_else_from_being_told(caplog):
    done = []
    run_callbacks([lambda: 1 / 0, lambda: done.append("second")])
    assert done == ["second"]
    assert caplog.messages == ["a callback failed once its answer had left"]


def test_a_refusal_that_cannot_be_explained_is_told_and_is_a_refusal(service, admin, caplog, monkeypatch):
    service.grant("rita@example.com", "reader", "shop/prod")
    monkeypatch.setattr(service.app.registry, "explain_refusal", lambda *_: 1 / 0)
    page = Browser(service, "rita@example.com").open("/projects/shop/environments/prod/import", 403)
    line = f"the refusal of request {page.headers['X-Request-Id']} was not explained: ZeroDivisionError"
    assert line in caplog.messages
