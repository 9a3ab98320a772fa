"""OpenTelemetry's own instrumentation of SQLAlchemy, as a deployment installs it, over the whole service."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import blocks
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from secrets_client import Vault
from service import Service
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from secretsvc.db.engine import write_transaction
from secretsvc.db.fast.prepared import Prepared
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import project

VALUE = "marker-of-a-value"


@pytest.fixture
def spans(service: Service, vault: Vault) -> Iterator[InMemorySpanExporter]:
    """What is exported of the statements of the service, which has the project `shop` with `prod`."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = SQLAlchemyInstrumentor()
    # It asks for a SQLAlchemy below ours, and works with ours.
    instrumentor.instrument(engine=service.engine, tracer_provider=provider, skip_dep_check=True)
    yield exporter
    instrumentor.uninstrument()
    provider.shutdown()


def test_the_module_of_the_page_makes_spans_of_statements(service: Service, here: Path) -> None:
    page = (here / "docs" / "operations" / "monitoring.md").read_text("utf-8")
    (block,) = blocks(page, "Spans", "python")
    module: dict[str, Any] = {}
    exec(block, module)  # noqa: S102 - the page's own
    exporter = InMemorySpanExporter()
    module["provider"].add_span_processor(SimpleSpanProcessor(exporter))
    module["includeme"](service.app)
    service.user().get("/whoami")
    SQLAlchemyInstrumentor().uninstrument()
    module["provider"].shutdown()
    assert "identity" in touched(exporter, "FROM|JOIN")


def brought_by(package: str) -> set[str]:
    """The packages that are installed for one, with its extras, and it."""
    found, left = set(), [Requirement(package)]
    while left:
        one = left.pop()
        if str(one) not in found:
            found.add(str(one))
            wanted = map(Requirement, requires(one.name) or ())
            extras = [{"extra": extra} for extra in ("", *one.extras)]
            left += [each for each in wanted if not each.marker or any(map(each.marker.evaluate, extras))]
    return {canonicalize_name(Requirement(one).name) for one in found}


#: What the tests have beside that is taken away.
ALONE = """
import sys
from types import SimpleNamespace
block, *others = sys.argv[1:]
sys.modules.update(dict.fromkeys(others))
from sqlalchemy import create_engine
module = {}
exec(block, module)
module["includeme"](SimpleNamespace(registry=SimpleNamespace(database=SimpleNamespace(engine=create_engine("sqlite://")))))
"""


@pytest.mark.slow
def test_the_extra_brings_all_that_the_module_of_the_page_imports(here: Path) -> None:
    page = (here / "docs" / "operations" / "monitoring.md").read_text("utf-8")
    (block,) = blocks(page, "Spans", "python")
    brought = brought_by("secretsvc[tracing]")
    of_packages = packages_distributions().items()
    others = [module for module, names in of_packages if brought.isdisjoint(map(canonicalize_name, names))]
    command = [sys.executable, "-W", "ignore", "-c", ALONE, block, *others]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def touched(exporter: InMemorySpanExporter, verb: str) -> set[str]:
    """The tables that the statements so far name behind a word; the spans are then forgotten."""
    statements = [str(attributes(span).get("db.statement", "")) for span in exporter.get_finished_spans()]
    exporter.clear()
    return {table for one in statements for table in re.findall(rf"\b(?:{verb}) \"?(\w+)", one)}


def test_requests_are_answered_and_each_of_their_statements_has_a_span(
    spans: InMemorySpanExporter, service: Service, vault: Vault
) -> None:
    vault.client.get("/whoami")
    assert {"identity", "grant"} <= touched(spans, "FROM|JOIN")
    vault.set(API_KEY=VALUE, OTHER=VALUE)
    assert {"secret", "secret_version", "audit_record"} <= touched(spans, "INSERT INTO|COPY")
    assert vault.get("secrets/API_KEY").json["value"] == VALUE
    assert touched(spans, "INSERT INTO") == {"audit_record"}
    assert VALUE in vault.get("secrets:export").text
    assert "secret_version" in touched(spans, "FROM|JOIN")
    service.user("eve@example.com").get("/projects/shop", 404)
    assert "audit_record" in touched(spans, "INSERT INTO")


def test_no_span_holds_a_value(spans: InMemorySpanExporter, vault: Vault) -> None:
    vault.set(API_KEY=VALUE)
    vault.get("secrets/API_KEY")
    vault.get("secrets:export")
    found = spans.get_finished_spans()
    assert len(found) > 5
    assert all(VALUE not in span.to_json() and "API_KEY" not in span.to_json() for span in found)


def test_the_span_of_a_statement_that_fails_is_ended_with_its_error(
    spans: InMemorySpanExporter, service: Service
) -> None:
    row = {
        "id": new_id(),
        "slug": "shop",
        "name": "Again",
        "description": None,
        "created_at": 1,
        "updated_at": 1,
    }
    with pytest.raises(IntegrityError), write_transaction(service.engine) as connection:
        Prepared(insert(project)).run(connection, row)
    (failed,) = [span for span in spans.get_finished_spans() if span.status.status_code is StatusCode.ERROR]
    assert str(attributes(failed)["db.statement"]).startswith("INSERT INTO project")
