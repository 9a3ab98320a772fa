"""Percent signs in an ini file's URL, and errors that never show the URL."""

from __future__ import annotations

import pytest
from paste.deploy.loadwsgi import NicerConfigParser
from pyramid import paster
from rotation import Operator
from service import MASTER_KEY

from secretsvc.deployment.ini_files import IniError, read_ini
from secretsvc.kernel.ini_values import IniValueError, _Values
from secretsvc.server.factory import make_server

SESAME = "open-sesame"


@pytest.fixture
def ini(tmp_path, monkeypatch):
    """Writes an ini file with a URL, for PasteDeploy as it is in a new process; its path."""
    monkeypatch.setattr(NicerConfigParser, "InterpolateWrapper", _Values.__mro__[1])
    path = tmp_path / "production.ini"

    def write(url):
        path.write_text(f"[app:main]\nuse = egg:secretsvc\nsqlalchemy.url = {url}\n")
        return str(path)

    return write


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("postgresql://u:p%40s%3As@h/d", "postgresql://u:p%40s%3As@h/d"),
        ("postgresql://u:p%%40s%%3As@h/d", "postgresql://u:p%40s%3As@h/d"),
        ("postgresql://u:%2F%%2F%25%%25@h/d", "postgresql://u:%2F%2F%25%25@h/d"),
        ("sqlite:///%(here)s/x%20y", "sqlite:///HERE/x%20y"),
    ],
)
def test_a_percent_encoded_url_is_read_as_it_is_written(ini, tmp_path, written, read):
    assert read_ini(ini(written))["sqlalchemy.url"] == read.replace("HERE", str(tmp_path))


def test_the_server_reads_it_too(ini):
    path = ini("postgresql://u:p%40ss@h/d")
    make_server({})
    app = paster.get_app(path)
    assert app.registry.service_settings.database_url == "postgresql+psycopg://u:p%40ss@h/d"
    with pytest.raises(IniValueError) as caught:
        paster.get_app(ini(f"postgresql://u:%{SESAME}@h/d"))
    assert SESAME not in str(caught.value)


@pytest.mark.parametrize("password", [f"%{SESAME}", f"%({SESAME}", f"%({SESAME})s"])
def test_a_url_that_cannot_be_read_is_told_by_its_option_alone(ini, password):
    with pytest.raises(IniError) as caught:
        read_ini(ini(f"postgresql://u:{password}@h/d"))
    assert "sqlalchemy.url of [app:main] in " in str(caught.value)
    assert SESAME not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.fixture
def broken(tmp_path):
    """An operator whose ini file has a URL with a bad password."""
    operator = Operator(tmp_path, "")
    path = tmp_path / "production.ini"
    url = f"sqlalchemy.url = postgresql://u:%{SESAME}@h/d"
    path.write_text(path.read_text().replace("sqlalchemy.url = sqlite:///%(here)s/secretsvc.sqlite", url))
    return operator


@pytest.mark.parametrize("command", ["migrate", "check", "verify", "backup", "explain-token"])
def test_each_command_says_so_in_one_line(forks, broken, command):
    arguments = [command, "production.ini", *(["copy"] if command == "backup" else [])]
    done = forks.run(broken, *arguments, MASTER_KEY=MASTER_KEY)
    (line,) = (done.stdout + done.stderr).splitlines()
    assert (done.returncode, SESAME in line) == (1, False)
    assert "sqlalchemy.url of [app:main] in " in line


@pytest.mark.slow
def test_so_does_alembic(broken):
    process = broken.start_alembic("upgrade", "heads")
    out, err = process.communicate(timeout=60)
    assert SESAME not in out + err
    assert "sqlalchemy.url of [app:main] in " in err


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"])
def test_a_database_in_memory_is_refused_with_the_reason(forks, tmp_path, issuer, url):
    told = "setting DATABASE_URL is malformed: a database in memory is lost: name a file"
    operator = Operator(tmp_path, url)
    for command in ("migrate", "check"):
        done = forks.run(operator, command, "production.ini", MASTER_KEY=MASTER_KEY, **issuer.environment())
        assert done.returncode == 1
        assert told in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
