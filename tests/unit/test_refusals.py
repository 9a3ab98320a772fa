"""Refusals are counted by reason and told in few lines, of which none holds what it must not."""

from __future__ import annotations

import inspect
import logging
import threading
import tracemalloc

import pytest
from key_cache import Clock

from secretsvc.kernel.rejections import LENGTH, MEMBERS, WINDOW, Refusals, RejectionReason, claimed_facts


@pytest.fixture
def refusals(clock: Clock, caplog: pytest.LogCaptureFixture) -> Refusals:
    caplog.set_level(logging.INFO)
    return Refusals(clock=clock)


def test_every_reason_has_a_total_from_the_start(refusals: Refusals) -> None:
    assert refusals.totals() == dict.fromkeys(RejectionReason, 0)
    refusals.note(RejectionReason.EXPIRED, "r")
    refusals.note(RejectionReason.EXPIRED, "r")
    refusals.note(RejectionReason.ORIGIN, "r")
    assert refusals.totals() == {
        **dict.fromkeys(RejectionReason, 0),
        RejectionReason.EXPIRED: 2,
        RejectionReason.ORIGIN: 1,
    }


def test_no_two_reasons_have_the_same_words() -> None:
    assert len({reason.value for reason in RejectionReason}) == len(RejectionReason)


def test_the_first_of_a_reason_is_told_and_the_next_window_says_how_many_were_not(
    refusals: Refusals, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        refusals.note(RejectionReason.EXPIRED, f"request-{number}", lambda: 'kid="k"')
        clock.advance(1)
    clock.advance(WINDOW - 5)
    refusals.note(RejectionReason.EXPIRED, "request-5")
    assert caplog.messages == [
        "assertion refused: expired; look at ACCESS_LEEWAY; request request-0;"
        " unlogged since the last such line: 0;"
        ' unverified: kid="k"',
        "assertion refused: expired; look at ACCESS_LEEWAY; request request-5;"
        " unlogged since the last such line: 4;"
        " unverified: nothing",
    ]
    assert {record.levelno for record in caplog.records} == {logging.INFO}


def test_one_reason_does_not_silence_another(refusals: Refusals, caplog: pytest.LogCaptureFixture) -> None:
    for reason in RejectionReason:
        refusals.note(reason, "r")
        refusals.note(reason, "r")
    assert len(caplog.messages) == len(RejectionReason)


def test_an_issuer_does_not_silence_another(
    refusals: Refusals, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    groups = [f"WORKLOAD_CI_{number}_" for number in range(15)]
    for _ in range(3):
        for group in groups:
            refusals.note(RejectionReason.SIGNATURE, "r", group=group)
    assert [f"look at {group}JWKS_URL;" in line for group, line in zip(groups, caplog.messages, strict=True)]
    clock.advance(WINDOW)
    refusals.note(RejectionReason.SIGNATURE, "r", group=groups[0])
    assert "unlogged since the last such line: 2;" in caplog.messages[-1]
    assert refusals.totals()[RejectionReason.SIGNATURE] == 46


def test_what_is_not_told_is_not_even_read(refusals: Refusals) -> None:
    asked = []
    for _ in range(3):
        refusals.note(RejectionReason.UNKNOWN_KID, "r", lambda: asked.append(1) or "")
    assert asked == [1]


def kept_bytes() -> int:
    """The traced bytes that `kernel.refusals` allocated: other threads of the suite allocate too."""
    module = tracemalloc.Filter(True, inspect.getfile(Refusals))
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([module]).traces)


@pytest.mark.slow
def test_a_flood_writes_a_bounded_log_and_takes_no_memory(
    refusals: Refusals, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    evil = "\U0001f600" * 10_000
    reasons = list(RejectionReason)
    seconds, count = 600, 100_000
    tracemalloc.start()
    for number in range(count):
        clock.advance(seconds / count)
        reason = reasons[number % len(reasons)]
        refusals.note(
            reason, "r" * 64, lambda: claimed_facts({"kid": evil, "claims": [evil] * 99, "iss": evil})
        )
    kept = kept_bytes()
    tracemalloc.stop()
    assert len(caplog.messages) <= len(reasons) * (seconds / WINDOW + 1)
    assert max(map(len, caplog.messages)) < 4 * LENGTH + 400
    assert sum(refusals.totals().values()) == count
    assert kept < 1_000_000


def test_threads_lose_no_count(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    refusals = Refusals()

    def flood() -> None:
        for _ in range(2_000):
            refusals.note(RejectionReason.SIGNATURE, "r")

    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refusals.totals()[RejectionReason.SIGNATURE] == 16_000
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("rsa-1", '"rsa-1"', id="plain"),
        pytest.param("", '""', id="empty"),
        pytest.param("a\nb\r\x00\x1b\x7f", '"a\\u{a}b\\u{d}\\u{0}\\u{1b}\\u{7f}"', id="controls"),
        pytest.param('a" kid="b\\', '"a\\u{22} kid=\\u{22}b\\u{5c}"', id="quotation marks and backslashes"),
        pytest.param("\u00e9\u2028\U0001f600\ud800", '"\\u{e9}\\u{2028}\\u{1f600}\\u{d800}"', id="not ASCII"),
        pytest.param("x" * 999, f'"{"x" * LENGTH}"', id="long"),
        pytest.param(["a", "b\n", 7, {"c": 1}], '"a, b\\u{a}"', id="list"),
        pytest.param([str(n) for n in range(99)], f'"{", ".join(map(str, range(MEMBERS)))}"', id="long list"),
        pytest.param([], '""', id="empty list"),
        pytest.param(1_700_000_000.5, "1700000000.5", id="number"),
        pytest.param(10**999, "1" + "0" * (LENGTH - 1), id="long number"),
        pytest.param(True, "bool", id="boolean"),
        pytest.param({"a": "b"}, "dict", id="object"),
    ],
)
def test_a_fact_is_told_in_printable_ascii_of_bounded_length(value: object, text: str) -> None:
    assert claimed_facts({"name": value}) == f"name={text}"


def test_a_cut_fact_ends_where_its_quotation_ends() -> None:
    for before in range(LENGTH):
        text = claimed_facts({"name": "x" * before + "\n" * LENGTH})
        assert text.count('"') == 2
        assert text.endswith('"')
        assert not text.endswith('\\"')
        assert len(text) <= LENGTH + len('name=""')


def test_facts_stand_beside_each_other_and_what_is_none_is_left_out() -> None:
    assert claimed_facts({"kid": "k", "iss": None, "exp": 1}) == 'kid="k" exp=1'
    assert claimed_facts({}) == ""
