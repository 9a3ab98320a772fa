"""The commands and settings of docs/identity that are no setting of the service, run as they stand."""

from __future__ import annotations

import json
import subprocess
import sys
from http.client import HTTPConnection

import pytest
from built import single_file
from hostile import Hostile, told
from load.test_readme import development, pasted
from processes import free_port
from programs import need
from recipes import blocks
from secretsvc.kernel.clock import now_ms
from server import served
from service import ADMIN, HEADER
from waiting import eventually

__all__ = ["development"]
HAPROXY = """
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend machines
  bind 127.0.0.1:{port}
{settings}
  default_backend service
backend service
  server one 127.0.0.1:{served}
"""


@pytest.fixture
def way(service, tmp_path):
    """The port of HAProxy with the settings of the page, in front of the service."""
    (settings,) = blocks("identity/README.md", "haproxy")
    port, file = free_port(), tmp_path / "haproxy.cfg"
    with served(service.app) as behind:
        file.write_text(HAPROXY.format(port=port, served=behind, settings=settings))
        process = subprocess.Popen([need("haproxy"), "-db", "-f", file], stderr=subprocess.DEVNULL)
        try:
            assert eventually(lambda: status(port, "/api/v1/health") == 200, pause=0.05)
            yield port
        finally:
            process.terminate()
            process.wait()


def status(port, path, **headers):
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


def test_the_way_of_machines_leads_to_no_page_and_takes_no_assertion_of_a_person(way, issuer):
    token = issuer.sign(ADMIN)
    whoami = "/api/v1/whoami"
    assert status(way, whoami, Authorization=f"Bearer {token}") == 200
    assert status(way, whoami, **{HEADER: token}) == 401
    assert status(way, whoami, Cookie=f"Proxy_Authorization={token}") == 401
    assert status(way, "/", Authorization=f"Bearer {token}") == 403


def test_a_job_of_github_gets_its_token_by_curl():
    need("jq")
    (recipe,) = blocks("identity/github-actions.md", "bash")
    with Hostile(told(200, {"value": "of-the-job"})) as github:
        variables = {
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{github.url}/?v=2",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "for-asking",
        }
        script = f'{recipe}printf %s "$TOKEN"'
        done = subprocess.run(
            ["bash", "-euc", script], env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True
        )
    assert done.stdout == b"of-the-job", done.stderr
    assert github.paths == ["/?v=2&audience=https://secrets.example.com"]
    assert b"Authorization: Bearer for-asking\r\n" in github.requests[0]


ARRANGED = """
curl -fsS $api/projects -H "$json" -d '{"slug": "shop", "name": "Shop"}'
curl -fsS $api/projects/shop/environments -H "$json" -d '{"slug": "prod", "name": "Prod"}'
"""


def test_the_commands_of_the_page_make_a_token_that_the_client_can_try_with_make_run(development, home):
    folder, address = development
    identity, grant, token = blocks("identity/service-tokens.md", "bash")
    token = token.replace("1798761600000", str(now_ms() + 3_600_000))
    scripts = [identity, ARRANGED, grant, "echo", token]
    pasting = [one.replace("https://secrets.example.com", "http://127.0.0.1:6543") for one in scripts]
    made = json.loads(pasted(folder, address, pasting)[-1])["token"]
    client = single_file(folder)

    def run(token, *arguments):
        variables = {"HOME": str(home), "SECRETSVC_URL": f"http://{address}", "SECRETSVC_TOKEN": token}
        command = [sys.executable, client, *arguments, "--json"]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    assert json.loads(run(made, "whoami").stdout)["identity"]["subject"] == "backup-host"
    listed = run(made, "list", "--project", "shop", "--environment", "prod")
    assert listed.returncode == 0, listed.stderr
    assert run(f"{made[:-1]}!", "whoami").returncode == 4
    assert run("ssv_bad", "whoami").returncode == 4
