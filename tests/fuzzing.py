"""Schemathesis over the application: requests made up from the description, by one caller at a time."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.engine import events, from_schema
from schemathesis.generation import GenerationMode
from service import ADMIN, API, HEADER, Service

from secretsvc.web.headers import SECURITY_HEADERS

SEED = 20261
TOKEN = re.compile(r"eyJ[A-Za-z0-9_.-]+")
LIFE = 12 * 3600
# The examples of the description name these, so that its examples are answered with more than 404.
PROJECT = ENVIRONMENT = "shop"
KEY = "API_KEY"
ENVELOPE = {"code", "message", "request_id"}
# Rules across fields, which JSON Schema cannot express: `descriptions` within `set`, `from` unlike `to`, what
# `content` may hold, `If-Match` against `expected_rev`, `key` with its environment, `name` with its format, a
# `reason` where the environment asks for one; and limits that a valid body may exceed. Nor can it say which
# characters a subject may hold, or what a format cannot carry.
ACROSS_FIELDS = (
    "batchSecrets",
    "importSecrets",
    "renameSecret",
    "rollbackSecret",
    "compareSecrets",
    "copySecrets",
    "restoreSecrets",
    "exportSecrets",
    "createIdentity",
    "readAudit",
    "getExposure",
)


@schemathesis.check
class dressed:
    """Every answer bears the headers, every error the envelope, whatever was asked."""

    def after_response(self, ctx: Any, response: Response, case: Any) -> None:
        headers = {name.lower(): values for name, values in response.headers.items()}
        for name, value in SECURITY_HEADERS:
            assert headers.get(name.lower()) == [value], name
        assert "content-security-policy" in headers
        assert "no-store" in headers["cache-control"][0]
        assert not [name for name in headers if name.startswith("access-control-")]
        (request_id,) = headers["x-request-id"]
        if response.status_code >= 400:
            assert headers["content-type"] == ["application/json; charset=utf-8"]
            body = response.json()
            assert ENVELOPE <= body.keys() <= ENVELOPE | {"hint", "issues"}
            assert body["request_id"] == request_id


@schemathesis.check
class silent:
    """No error repeats what was sent, but for the names of keys (specification, "Errors")."""

    def after_response(self, ctx: Any, response: Response, case: Any) -> None:
        if response.status_code >= 400:
            sent = [*texts(case.body), *texts(case.query), *texts(case.path_parameters)]
            body = response.json()
            told = [
                body["message"],
                body.get("hint", ""),
                *(one["message"] for one in body.get("issues", ())),
            ]
            assert not [text for text in sent if len(text) >= 8 and text in " ".join(told)]


def texts(value: Any) -> Iterator[str]:
    """The strings within a value; the names of an object's members are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


@dataclass
class Findings:
    """What a run asked and what was wrong."""

    statuses: Counter[int] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return self.statuses.total()

    def take(self, event: Any) -> None:
        """Notes what an event of the engine tells."""
        if isinstance(event, events.NonFatalError):
            self.errors.append(f"{event.label}: {event.info.format()}")
        elif isinstance(event, events.FatalError):
            raise event.exception
        elif isinstance(event, events.ScenarioFinished):
            self._take_scenario(event.recorder)

    def _take_scenario(self, recorder: Any) -> None:
        for identifier, interaction in recorder.interactions.items():
            if interaction.response is not None:
                self.statuses[interaction.response.status_code] += 1
                self.operations[recorder.cases[identifier].value.operation.label] += 1
        for identifier, checks in recorder.checks.items():
            for check in checks:
                if check.failure_info is not None:
                    label = recorder.cases[identifier].value.operation.label
                    failure = check.failure_info
                    sample = TOKEN.sub("TOKEN", failure.code_sample)[:1500]
                    told = f"{failure.failure.title}: {failure.failure.message}\n{sample}"
                    self.failures.setdefault((label, check.name), told)


def seed(service: Service) -> None:
    """A project, an environment and some secrets, put back wherever they are missing."""
    admin = service.user(exp=_far())
    admin.post("/projects", {"slug": PROJECT, "name": "Shop"}, "*")
    admin.post(f"/projects/{PROJECT}/environments", {"slug": ENVIRONMENT, "name": "Shop"}, "*")
    values = {KEY: "s3cr3t-value", "OTHER_KEY": "another"}
    body = {"mode": "merge", "set": values}
    admin.post(f"/projects/{PROJECT}/environments/{ENVIRONMENT}/secrets:batch", body, "*")


def _far() -> int:
    return int(time.time()) + LIFE


def configuration(token: str | None, examples: int, workers: int = 1) -> SchemathesisConfig:
    """What to ask and how to judge it; each exception has its reason."""
    cross_field = [
        {
            "include-operation-id": name,
            "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "4xx"]}},
        }
        for name in ACROSS_FIELDS
    ]
    return SchemathesisConfig.from_dict(
        {
            "seed": SEED,
            "workers": workers,
            "continue-on-failure": True,
            "request-timeout": 30,
            "headers": {} if token is None else {HEADER: token},
            "generation": {"max-examples": examples or 1, "allow-x00": True, "database": "none"},
            "phases": {
                "coverage": {"enabled": examples > 0, "generate-duplicate-query-parameters": True},
                "stateful": {"enabled": examples > 0, "max-steps": 12},
            },
            "checks": {
                # Contract 2: a known path with a method that it does not have is 404, not 405 with `Allow`.
                "unsupported_method": {"enabled": False},
                "positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "409"]},
                "negative_data_rejection": {
                    "expected-statuses": ["400", "401", "403", "404", "409", "413", "422"]
                },
            },
            "operations": cross_field,
        }
    )


def integers(value: Any) -> Any:
    """The same JSON without `1.0`: an integer to JSON Schema, none to contract 2."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: integers(member) for name, member in value.items()}
    return [integers(item) for item in value] if isinstance(value, list) else value


def _followable(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a path, but for those that would only mislead the run.

    What is null in an answer (a grant's `group_id`) is guessed to be a link by nobody but schemathesis. And
    what every caller needs is not deleted: put back, it would look as if the deletion had not held.
    """
    followed = {name: str(uuid4()) if value is None else value for name, value in parameters.items()}
    if method.upper() == "DELETE":
        needed = {"project": PROJECT, "env": ENVIRONMENT}
        last = [name for name in needed if name in followed][-1:]
        followed |= {name: "gone" for name in last if followed[name] == needed[name]}
    return followed


def run(service: Service, address: str, token: str | None, examples: int, workers: int = 1) -> Findings:
    """One caller's run over the whole description; without `examples` the shortest that there is."""
    seed(service)
    config = configuration(token, examples, workers)
    config.projects.default.update(base_url=address + API)
    schema = schemathesis.openapi.from_dict(service.nobody().get("/openapi.json").json, config=config)
    chance = random.Random(SEED)  # noqa: S311 (nobody has to guess it)

    def before_call(context: Any, case: Any, kwargs: Any) -> None:
        case.path_parameters = _followable(case.method, case.path_parameters or {})
        if case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE:
            case.body = integers(case.body)
            # Most made-up names name nothing: most of these name what is there.
            present = {"project": PROJECT, "env": ENVIRONMENT, "key": KEY}
            for name in present.keys() & case.path_parameters.keys():
                if chance.random() < 0.75 and case.method.upper() != "DELETE":
                    case.path_parameters[name] = present[name]

    def after_call(context: Any, case: Any, response: Response) -> None:
        if "/secrets:" in case.path and case.method.upper() == "POST" and response.status_code == 200:
            seed(service)

    findings = Findings()
    hooks = [schemathesis.hook(before_call), schemathesis.hook(after_call)]
    try:
        for event in from_schema(schema).execute():
            findings.take(event)
    finally:
        for hook in hooks:
            schemathesis.hooks.unregister(hook)
    return findings


CALLERS = {
    "admin": lambda service: service.issuer.sign(ADMIN, exp=_far()),
    "reader": lambda service: service.issuer.sign("reader@example.com", exp=_far()),
    "writer": lambda service: service.issuer.sign("writer@example.com", exp=_far()),
    "robot": lambda service: service.issuer.service("robot.access", exp=_far()),
    "nobody": lambda service: None,
}
