"""Compiled pages that outlive a process (docs/operations/running.md)."""

from __future__ import annotations

from processes import Deployment


def modules(cache):
    """The compiled pages by name; one that is compiled again is another file."""
    return {path.name: path.stat().st_ino for path in cache.glob("*.py")}


def test_what_one_process_compiled_the_next_one_uses(sqlite_databases, issuer, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    with Deployment(tmp_path, sqlite_databases.create(), issuer, CHAMELEON_CACHE=str(cache)) as deployment:
        compiled = []
        for index in range(2):
            deployment.start(1)
            browser = deployment.client(index)
            browser.prefix = ""
            assert b"<h1" in browser.expect(200, "GET", "/projects").body
            browser.close()
            compiled.append(modules(cache))
            deployment.processes[index].stop()
    assert {name.partition("_")[0] for name in compiled[0]} == {"shell", "parts", "projects"}
    assert compiled[0] == compiled[1]
    assert {path.stat().st_mode & 0o077 for path in cache.glob("*.py")} == {0}
