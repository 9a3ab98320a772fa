"""Where master keys come from: the built-in providers, and one from outside by the same directive."""

from __future__ import annotations

import pytest
from rotation import NEW_KEY
from service import MASTER_KEY

from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.parsers import master_key


def kids(service) -> list[str]:
    return [key["kid"] for key in service.user().get("/admin/keyring").json["keys"]]


def test_files_hold_the_keys_with_a_line_end_or_without(make_service, tmp_path):
    (tmp_path / "new").write_text(NEW_KEY + "\n")
    (tmp_path / "old").write_text(MASTER_KEY)
    service = make_service(
        KEY_PROVIDER="file",
        MASTER_KEY="not looked at",
        MASTER_KEY_FILE=str(tmp_path / "new"),
        MASTER_KEY_OLD_FILE=str(tmp_path / "old"),
    )
    assert kids(service) == list(KeyRing(master_key(NEW_KEY), master_key(MASTER_KEY)).kids)


@pytest.mark.slow
@pytest.mark.parametrize("old", [None, "", "\n"])
def test_the_file_of_the_retired_key_may_be_missing_or_empty(make_service, tmp_path, old):
    (tmp_path / "new").write_text(NEW_KEY)
    if old is not None:
        (tmp_path / "old").write_text(old)
    service = make_service(
        KEY_PROVIDER="file",
        MASTER_KEY_FILE=str(tmp_path / "new"),
        MASTER_KEY_OLD_FILE=str(tmp_path / "old"),
    )
    assert kids(service) == list(KeyRing(master_key(NEW_KEY), None).kids)


@pytest.mark.slow
@pytest.mark.parametrize("content", [None, "", "short", NEW_KEY[:-8]])
def test_a_file_without_a_key_is_a_misconfiguration_that_the_log_names(
    make_service, tmp_path, caplog, content
):
    if content is not None:
        (tmp_path / "new").write_text(content)
    service = make_service(KEY_PROVIDER="file", MASTER_KEY_FILE=str(tmp_path / "new"))
    assert service.nobody().get("/health", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert "the file that setting MASTER_KEY_FILE names holds no key: " in caplog.text
    assert NEW_KEY[:8] not in caplog.text


@pytest.mark.slow
def test_a_file_provider_without_a_file_is_a_misconfiguration(make_service, caplog):
    service = make_service(KEY_PROVIDER="file")
    assert service.nobody().get("/health", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert "setting MASTER_KEY_FILE is missing" in caplog.text


@pytest.mark.slow
def test_an_unknown_provider_is_a_misconfiguration(make_service, caplog):
    service = make_service(KEY_PROVIDER="vault")
    assert service.nobody().get("/health", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert "KEY_PROVIDER" in caplog.text


ACME = """
def from_the_safe(settings):
    return bytes(32), None


def includeme(config):
    config.add_key_provider("safe", from_the_safe)
"""


def test_a_package_outside_brings_its_own_provider(make_service, tmp_path, monkeypatch):
    (tmp_path / "acme_keys.py").write_text(ACME)
    monkeypatch.syspath_prepend(tmp_path)
    service = make_service(KEY_PROVIDER="safe", **{"PYRAMID.INCLUDES": "acme_keys"})
    assert kids(service) == list(KeyRing(bytes(32), None).kids)
