"""The files of deploy/, as far as that takes no process: what they say of the service is so.

HAProxy, nginx and Caddy are started in tests/load/test_rolling_restarts.py and test_in_front.py.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import pytest
import yaml
from doc_blocks import blocks, section
from kubernetes_validate import ValidationError, validate
from postgresql_server import PROGRAMS
from processes import ROOT, free_port

from secretsvc.commands import main
from secretsvc.deployment.audit import audit
from secretsvc.deployment.checks.contradictions import STOP_SECONDS, contradictions
from secretsvc.deployment.environment_files import read_environment
from secretsvc.kernel.settings import Settings
from secretsvc.server.limits import ConnectionLimits

DEPLOY = ROOT / "deploy"
UNITS = ("secretsvc.service", "secretsvc@.service")
#: As in the image.
USER = 65532
SETTINGS = {setting.variable for setting in Settings.known().values()}
#: For promtool.
ALERT_TESTS = ("tests/data/alerts.yaml", "tests/data/alerts-over-days.yaml")
#: What a unit's exposure to the system may be at most, in tenths (`systemd-analyze security`).
EXPOSURE = "15"


AVAILABILITY = (ROOT / "docs" / "operations" / "high-availability.md").read_text("utf-8")
AUDIT = (ROOT / "docs" / "audit.md").read_text("utf-8")
INSTALLING = (ROOT / "docs" / "operations" / "installing.md").read_text("utf-8")


def text(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


def runnable(name: str) -> str:
    """The unit with programs that are there."""
    return re.sub(r"/opt/secretsvc/bin/(pserve|secretsvc-server)", "/bin/true", text(name))


def documents() -> dict[str, Any]:
    """The Kubernetes objects, by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all(text("kubernetes.yaml"))}


def test_no_file_names_a_setting_that_is_none():
    compose = yaml.safe_load(text("compose.yaml"))["services"]
    named = {*compose["migrate"]["environment"], *compose["secretsvc"]["environment"]}
    named |= {*documents()["ConfigMap"]["data"]}
    for name in UNITS:
        named |= set(re.findall(r"(?m)^Environment=(\w+)=", text(name)))
    assert named - {"CHAMELEON_CACHE"} <= SETTINGS


def test_the_sample_of_the_environment_is_read_whole_and_names_settings():
    found = read_environment(text("environment.example"))
    assert found.ignored == ()
    assert {*found.variables} <= SETTINGS
    settings = Settings({}, found.variables)
    for name in found.variables:
        getattr(settings, name.lower())
    assert [*contradictions(settings, DEPLOY)] == []


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_checks_the_deployment_before_it_starts(name):
    (before,) = re.findall(r"(?m)^ExecStartPre=(.*)$", text(name))
    program, command, *arguments = shlex.split(before)
    ini = str(ROOT / "production.ini")
    assert (program, command, arguments[-1]) == (
        "/opt/secretsvc/bin/secretsvc-server",
        "check",
        "/etc/secretsvc/production.ini",
    )
    assert main.commands["check"].make_context("check", [*arguments[:-1], ini]).params["start"]
    assert float(re.findall(r"(?m)^TimeoutStopSec=(\d+)$", text(name))[0]) == STOP_SECONDS


def test_the_check_that_runs_as_the_unit_fits_the_unit():
    page = (ROOT / "docs" / "operations" / "troubleshooting.md").read_text("utf-8")
    run = shlex.split(re.findall(r"(?m)^systemd-run .*$", page)[0])
    unit = text("secretsvc@.service")
    assert f"\n{run[run.index('-p') + 1]}\n" in unit
    assert f"\nUser={run[4].removeprefix('--uid=')}\n" in unit
    (before,) = re.findall(r"(?m)^ExecStartPre=(.*)$", unit)
    assert run[run.index("-p") + 2 :] == before.replace(" --start", "").split()


def test_whoever_stops_a_process_waits_longer_than_that_takes():
    drain = ConnectionLimits(body_bytes=1).drain_seconds
    stops = [int(re.findall(r"(?m)^TimeoutStopSec=(\d+)$", text(name))[0]) for name in UNITS]
    compose = yaml.safe_load(text("compose.yaml"))["services"]["secretsvc"]
    stops.append(int(compose["stop_grace_period"].removesuffix("s")))
    pod = documents()["Deployment"]["spec"]["template"]["spec"]
    pause = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    stops.append(pod["terminationGracePeriodSeconds"] - int(pause[1]))
    assert min(stops) > drain


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_valid_and_leaves_little_open(name, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    for path in DEPLOY.glob("secretsvc*.s*"):
        (tmp_path / path.name).write_text(runnable(path.name))
    # A template is judged by one of its instances.
    unit = tmp_path / name.replace("@.", "@6543.")
    if not unit.exists():
        (tmp_path / name).rename(unit)
    analyze = ["systemd-analyze", "--man=no", "verify", str(unit)]
    verified = subprocess.run(analyze, capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = [
        "systemd-analyze",
        "security",
        "--offline=true",
        f"--threshold={EXPOSURE}",
        "--no-pager",
        str(unit),
    ]
    assert subprocess.run(judged, capture_output=True, check=False).returncode == 0


def test_the_units_differ_in_where_they_listen_alone():
    one, template = ({*text(name).partition("[Unit]")[2].splitlines()} for name in UNITS)
    assert {line.partition("=")[0] for line in one ^ template} == {
        *("Description", "Requires", "After", "Environment", "ExecStart"),
        *("RuntimeDirectory", "RuntimeDirectoryMode"),
    }


def test_the_processes_of_one_socket_are_units_of_systemd(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    copy, install, _, enable = commands("secretsvc-shared.socket")
    *files, folder = re.findall(r"\S+/(\S*)", copy)
    conf, units = re.findall(r"\S+/(secretsvc@-\S+) /etc/systemd/system/(\S+)$", install)[0]
    assert folder == ""
    for name, as_ in [*((file, file) for file in files), (conf, units)]:
        (tmp_path / as_).parent.mkdir(exist_ok=True)
        (tmp_path / as_).write_text(runnable(name))
    started = enable.split()[3:]
    assert started[0] in files
    assert f"Service={started[1]}.service\n" in text(started[0])
    (tmp_path / "secretsvc@.service").rename(tmp_path / f"{started[1]}.service")
    verify = ["systemd-analyze", "--man=no", "verify", str(tmp_path / started[0])]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_tail_of_the_log_is_a_unit_and_its_file_is_rotated(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    (block,) = blocks(AUDIT, "A file for a log collector", "sh")
    unit, rotation, _, enable = block.splitlines()
    name, rule = (re.findall(r"/deploy/(\S+) /", one)[0] for one in (unit, rotation))
    assert enable.split()[-1] == name.removesuffix(".service")
    started = shlex.split(re.findall(r"(?m)^ExecStart=(.*)$", text(name))[0])
    assert started[1:3] == ["audit", "tail"]
    given = audit.commands["tail"].make_context("tail", [str(ROOT / "production.ini"), *started[4:]]).params
    assert given["follow"]
    assert f"\n{given['to']} {{\n" in text(rule)
    assert f"\nLogsDirectory={given['to'].parent.name}\n" in text(name)
    (tmp_path / name).write_text(text(name).replace(started[0], "/bin/true"))
    verify = ["systemd-analyze", "--man=no", "verify", str(tmp_path / name)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    judge = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager"]
    assert subprocess.run([*judge, str(tmp_path / name)], capture_output=True, check=False).returncode == 0


def instructions() -> list[tuple[str, str]]:
    """Those of the Dockerfile's last stage."""
    lines = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text("Dockerfile"))).splitlines()
    found = [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines if line]
    last = max(number for number, (word, _) in enumerate(found) if word == "FROM")
    return found[last:]


def test_the_image_runs_as_nobody_and_holds_no_setting():
    stage = dict(instructions())
    assert stage["USER"] == f"{USER}:{USER}"
    # Whatever is put there after that would be its own to change.
    words = [word for word, _ in instructions()]
    assert not {"COPY", "RUN", "ADD"} & {*words[words.index("USER") :]}
    assert not SETTINGS & {*re.findall(r"\w+", stage["ENV"])}
    images = re.findall(r"(?m)^FROM (\S+)", text("Dockerfile"))
    images += re.findall(r"image: (\S+)", text("compose.yaml") + text("kubernetes.yaml"))
    assert [image for image in images if "/" in image] == []


def test_the_image_is_made_of_named_versions_and_of_what_has_a_hash():
    dockerfile = re.sub(r"(?m)^#.*\n", "", text("Dockerfile"))
    (base,) = re.findall(r"(?m)^ARG BASE=(\S+)$", dockerfile)
    assert re.fullmatch(r"python:\d\.\d+-slim", base)
    assert {*re.findall(r"(?m)^FROM (\S+)", dockerfile)} == {"${BASE}"}
    assert re.findall(r"pip install .*", dockerfile) == [
        "pip install --no-cache-dir --require-hashes -r /dist/requirements.txt \\"
    ]
    assert not re.findall(r"(?m)^ADD|apt-get|curl|wget|:latest", dockerfile)
    compose = yaml.safe_load(text("compose.yaml"))["services"]
    assert compose["database"]["image"] == "${DATABASE_IMAGE:-postgres:18}"


def test_a_base_image_can_be_pinned_by_its_digest_as_the_page_says():
    page = section(INSTALLING, "Under a service manager")
    (base,) = re.findall(r"`--build-arg BASE=(\S+)@sha256:…`", page)
    assert f"\nARG BASE={base}\n" in text("Dockerfile")
    (image,) = re.findall(r"`DATABASE_IMAGE=(\S+)@sha256:…`", page)
    assert f"${{DATABASE_IMAGE:-{image}}}" in text("compose.yaml")


def test_no_process_that_has_the_master_key_leaves_it_in_a_core_dump_or_in_swap():
    for name in UNITS:
        assert {"LimitCORE=0", "MemorySwapMax=0"} <= {*text(name).splitlines()}
    services = yaml.safe_load(text("compose.yaml"))["services"]
    for name in ("migrate", "secretsvc"):
        assert services[name]["ulimits"]["core"] == 0
        assert services[name]["memswap_limit"] == services[name]["mem_limit"]
    stage = dict(instructions())
    done = subprocess.run(
        [*json.loads(stage["ENTRYPOINT"]), "sh", "-c", "ulimit -Sc && ulimit -Hc && echo $1", "sh", "a b"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0\n0\na b\n"
    # `command` of a pod would replace the entry point.
    pod = documents()["Deployment"]["spec"]["template"]["spec"]
    assert not [one for one in (*pod["initContainers"], *pod["containers"]) if "command" in one]


def test_what_the_image_starts_is_there():
    stage = dict(instructions())
    command = json.loads(stage["CMD"])
    assert command[:3] == ["pserve", "-q", "/etc/secretsvc/production.ini"]
    assert f"listen=0.0.0.0:{stage['EXPOSE']}" == command[3]
    assert ("COPY", "--from=install /opt/production.ini /etc/secretsvc/production.ini") in instructions()
    assert "/site-packages/secretsvc/shipped/production.ini /opt/production.ini\n" in text("Dockerfile")
    check = json.loads(re.findall(r"CMD (\[.*\])", stage["HEALTHCHECK"])[0])
    assert f":{stage['EXPOSE']}/api/v1/health" in check[2]
    compile(check[2], "health check", "exec")


def test_the_file_for_caddy_is_valid():
    if shutil.which("caddy") is None:
        pytest.skip("caddy is missing; on Debian: apt-get install caddy")
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_example_of_patroni_is_a_member_that_the_processes_are_told_of():
    (block,) = blocks(AVAILABILITY, "Patroni", "yaml")
    member = yaml.safe_load(block)
    (url,) = re.findall(r"DATABASE_URL=(\S+)", AVAILABILITY)
    assert f"host={member['postgresql']['connect_address']}" in url
    assert member["bootstrap"]["dcs"] == {"synchronous_mode": True, "synchronous_mode_strict": True}
    # It sets these by itself.
    assert "synchronous_standby_names" not in block


@pytest.mark.slow
def test_patroni_accepts_its_example(tmp_path):
    (block,) = blocks(AVAILABILITY, "Patroni", "yaml")
    with ExitStack() as stack:
        # It asks whether there is an etcd, and whether its own ports are free.
        for name in ("one", "two", "three"):
            port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            block = block.replace(f"{name}.internal:2379", f"127.0.0.1:{port}")
        for port in ("8008", "5432"):
            block = block.replace(f"one.internal:{port}", f"127.0.0.2:{free_port()}")
        file = tmp_path / "patroni.yml"
        file.write_text(block.replace("/var/lib/postgresql/17/main", str(tmp_path / "main")))
        path = f"{PROGRAMS}:{os.environ['PATH']}"
        command = [sys.executable, "-W", "ignore", "-m", "patroni", "--validate-config", str(file)]
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def commands(page_has: str) -> list[str]:
    """The lines of the one block of installing.md that has these words, continued ones as one."""
    (block,) = (one for one in blocks(INSTALLING, "Under a service manager", "sh") if page_has in one)
    return block.replace("\\\n", "").splitlines()


def test_the_commands_for_containers_fit_the_files():
    build, key, own, up, check = commands("docker build")
    assert f": {build}\n" in text("Dockerfile")
    image, command, file = re.findall(r"docker run --rm (\S+) secretsvc-server (\S+) > deploy/(\S+)", key)[0]
    compose = yaml.safe_load(text("compose.yaml"))
    assert {compose["services"][name]["image"] for name in ("migrate", "secretsvc")} == {image}
    assert compose["secrets"]["master-key"]["file"] == f"./{file}"
    assert own == f"chown {USER} deploy/{file} && chmod 400 deploy/{file}"
    service, other, ini = re.findall(r" exec (\S+) secretsvc-server (\S+) (\S+)$", check)[0]
    assert service in compose["services"]
    assert {command, other} <= {*main.commands}
    assert ini == json.loads(dict(instructions())["CMD"])[2]
    assert all(line.startswith("docker compose -f deploy/compose.yaml ") for line in (up, check))


def test_the_commands_for_kubernetes_fit_the_objects():
    create, apply, rollout = commands("kubectl create")
    pod = documents()["Deployment"]["spec"]["template"]["spec"]
    (secret,) = (one["secret"] for one in pod["volumes"] if "secret" in one)
    asked = [
        env["valueFrom"]["secretKeyRef"]
        for each in ("initContainers", "containers")
        for env in pod[each][0]["env"]
    ]
    assert {one["name"] for one in asked} | {secret["secretName"]} == {create.split()[4]}
    needed = {one["key"] for one in (*asked, *secret["items"])}
    assert {*re.findall(r"--from-(?:file|literal)=([\w-]+)", create)} == needed
    roles = dict(re.findall(r"=([\w-]+)=postgresql://(\w+):", create))
    assert roles == {"database-url": "secretsvc", "owner-url": "secretsvc_owner"}
    assert apply == "kubectl apply -f deploy/kubernetes.yaml"
    assert rollout.split()[-1] == f"deployment/{documents()['Deployment']['metadata']['name']}"


def test_compose_migrates_as_the_owner_before_it_serves_as_the_other():
    services = yaml.safe_load(text("compose.yaml"))["services"]
    for name in ("migrate", "secretsvc"):
        one = services[name]
        assert (one["read_only"], one["cap_drop"], one["user"]) == (True, ["ALL"], f"{USER}:{USER}")
    assert services["migrate"]["command"][1] in main.commands
    assert "secretsvc_owner:" in services["migrate"]["environment"]["DATABASE_URL"]
    assert services["secretsvc"]["environment"]["DATABASE_URL"].startswith("postgresql://secretsvc:")
    waits = services["secretsvc"]["depends_on"]["migrate"]["condition"]
    assert waits == "service_completed_successfully"
    assert services["secretsvc"]["ports"] == ["127.0.0.1:6543:6543"]


def alert_tests() -> list[dict[str, Any]]:
    """What the files of tests for promtool expect of alerts."""
    series = [yaml.safe_load((ROOT / name).read_text("utf-8"))["tests"] for name in ALERT_TESTS]
    return [one for tests in series for test in tests for one in test["alert_rule_test"]]


def test_each_alert_has_series_for_which_it_fires():
    alerts = re.findall(r"alert: (\w+)", text("prometheus-alerts.yaml"))
    fires = {one["alertname"] for one in alert_tests() if one["exp_alerts"]}
    assert fires == {*alerts}


@pytest.mark.slow
@pytest.mark.parametrize("file", ALERT_TESTS)
def test_each_alert_fires_for_its_series_and_for_no_other(file):
    if shutil.which("promtool") is None:
        pytest.skip("promtool is missing; on Debian it is in the package prometheus")
    command = ["promtool", "test", "rules", str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", ["1.27", "1.37"])
def test_the_objects_of_kubernetes_fit_its_schemas(version):
    objects = [*yaml.safe_load_all(text("kubernetes.yaml"))]
    assert {validate(one, version, strict=True) for one in objects} == {version}
    objects[0]["metadata"]["nmae"] = "x"
    with pytest.raises(ValidationError):
        validate(objects[0], version, strict=True)


def test_a_pod_is_nobody_and_cannot_change_itself():
    pod = documents()["Deployment"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == USER
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*pod["initContainers"], *pod["containers"]):
        confined = container["securityContext"]
        assert confined["readOnlyRootFilesystem"] is True
        assert confined["allowPrivilegeEscalation"] is False
        assert confined["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]
        mounted = {one["name"] for one in container["volumeMounts"]}
        assert mounted <= {one["name"] for one in pod["volumes"]}


def test_the_objects_of_kubernetes_fit_one_another():
    found = documents()
    spec = found["Deployment"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    selectors = [spec["selector"]["matchLabels"], found["Service"]["spec"]["selector"]]
    selectors.append(found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"])
    selectors.append(found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"])
    assert selectors == [labels] * 4
    (container,) = spec["template"]["spec"]["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    command = dict(instructions())
    settings = found["ConfigMap"]["data"]
    assert ports == {
        "http": int(command["EXPOSE"]),
        "operations": int(settings["OPERATIONS_LISTEN"].rpartition(":")[2]),
    }
    asked = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")}
    paths = {name: (one["path"], one["port"]) for name, one in asked.items()}
    live = ("/live", "operations")
    assert paths == {"startup": live, "readiness": ("/ready", "operations"), "liveness": live}
    key = next(one for one in container["volumeMounts"] if one["name"] == "key")["mountPath"]
    assert settings["MASTER_KEY_FILE"] == f"{key}/master-key"
    assert spec["replicas"] > found["PodDisruptionBudget"]["spec"]["minAvailable"]


def test_what_the_pod_runs_before_the_service_is_a_command_of_ours():
    (migrate,) = documents()["Deployment"]["spec"]["template"]["spec"]["initContainers"]
    assert migrate["args"][:2] == ["secretsvc-server", "migrate"]
    assert migrate["env"][0]["valueFrom"]["secretKeyRef"]["key"] == "owner-url"
    assert shlex.join(migrate["args"][2:]) == json.loads(dict(instructions())["CMD"])[2]
