from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import dotenv
import pytest
from dotenv.parser import parse_stream
from hypothesis import example, given
from hypothesis import strategies as st
from waiting import least_seconds, slowness

from secretsvc.kernel.errors import Issue, ValidationFailed
from secretsvc.kernel.identifiers import is_secret_key
from secretsvc.secrets.formats.exports import write_env
from secretsvc.secrets.formats.imports import checked, read_env, read_json

MARKER = "hunter2hunter2"
READERS = {"env": read_env, "json": read_json}
SPECIAL = "'\"\\#$ \t\r\n\v\f\0\a\b\x1c\x85\xa0\u2028\ufeff={}`a"

keys = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["Cs"])) | st.text(SPECIAL, max_size=12)
lines = st.text("Ab1_='\"\\# \t\r\n\xa0\x1c\u2028é-export", max_size=40)


def issues_of(read: Callable[[str], dict[str, str]], content: str) -> tuple[Issue, ...]:
    with pytest.raises(ValidationFailed) as caught:
        read(content)
    return caught.value.issues


def line_numbers(content: str) -> list[int]:
    issues = issues_of(read_env, content)
    assert {issue.path for issue in issues} == {"content"}
    return [int(issue.message.removeprefix("Line ").partition(":")[0]) for issue in issues]


@given(lines)
@example("A=x  y\t#c")
@example("A= #c")
@example("A=#c")
@example("A=a#c \t ")
@example("A='x' #c\r\nB=\"\r\\\"\"\r\n\r\n'C'=\x1c\xa0#")
def test_dotenv_reads_as_python_dotenv_reads_it(content: str) -> None:
    bindings = list(parse_stream(io.StringIO(content, newline=None)))
    named = [binding for binding in bindings if binding.key is not None]
    usable = (
        not any(binding.error for binding in bindings)
        and all(is_secret_key(binding.key or "") and binding.value is not None for binding in named)
        and len({binding.key for binding in named}) == len(named)
    )
    if usable:
        assert read_env(content) == {binding.key: binding.value for binding in named}
    else:
        assert issues_of(read_env, content)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("", {}),
        ("\n\r\n  \n# a comment\n", {}),
        ("A=1", {"A": "1"}),
        ("\ufeffA=1\r\nexport B = two words # and a comment\r\n", {"A": "1", "B": "two words"}),
        ("A=\nB=''\nC=\"\"\n", {"A": "", "B": "", "C": ""}),
        ('A="line\r\nline\\n\\"\\\\"\n', {"A": 'line\nline\n"\\'}),
        ("A='1\r2'\rB=\"\\r\\n\"\r", {"A": "1\n2", "B": "\r\n"}),
        ("A='it\\'s ${B} $B `x`'\nB=${A}", {"A": "it's ${B} $B `x`", "B": "${A}"}),
        ("'A'=1", {"A": "1"}),
    ],
)
def test_dotenv_in_all_its_quotings_is_read_without_interpolation(content: str, read: dict[str, str]) -> None:
    assert read_env(content) == read


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("A=1\n\n\n!\n", [4]),
        ("\n\n  =x", [3]),
        ("A='unclosed\nB=1", [1]),
        ('A="x" y\nB', [1, 2]),
        ("A=1\r\n\r\nB='x' y\r\n\r\nC\r\n", [3, 5]),
        ("A='x' y\r\nB='x' y\r\nC\rD\nE=1\n", [1, 2, 3, 4]),
        ('A="1\n2\r\n3"\n\nB', [5]),
        ("A=1\nB=2\nA=3\nA=3", [3, 4]),
        ("A\n", [1]),
        ("export A\n# c\nexport B", [1, 3]),
        ("1A=1\nA-B=1\nA.B=1\nÉ=1\nA１=1\nOK=1", [1, 2, 3, 4, 5]),
        (f"{'A' * 256}=1\n{'A' * 257}=1", [2]),
        ("A=1\nB=\ud800\n# \udfff\n\udc80=1", [2, 3, 4]),
    ],
)
def test_every_unusable_line_is_named_by_the_number_it_starts_on(content: str, expected: list[int]) -> None:
    assert line_numbers(content) == expected


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("no line", "there is no '=' in it"),
        ("=x", "there is no key before the '='"),
        ("export  =x", "there is no key before the '='"),
        ("B C=2", "the key is not an environment variable name of at most 256 characters"),
        ("export B C=2", "the key is not an environment variable name of at most 256 characters"),
        ("'K'x=1", "the key is not an environment variable name of at most 256 characters"),
        ('A="x\nB=1', "the quote is not closed"),
        ("export A = 'its", "the quote is not closed"),
        ('A="x" y', "something follows the closing quote"),
        ("A='x\ny' z", "something follows the closing quote"),
        ("A", "the key has no '=' and no value"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(content: str, why: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        read_env(content)
    assert refused.value.issues[0].message == f"Line 1: {why}."


@pytest.mark.parametrize(
    "content",
    [
        f"A='{MARKER}",
        f"{MARKER}",
        f"{MARKER}-x=1",
        f"A={MARKER}\nA={MARKER}",
        f"A='x' {MARKER}",
        f"={MARKER}",
    ],
)
def test_a_refused_dotenv_text_is_never_quoted(content: str) -> None:
    assert MARKER not in str(issues_of(read_env, content))


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (read_env, "A\n" * 1000),
        (read_json, json.dumps({f"K{n}": n for n in range(1000)})),
        (read_json, json.dumps({f"{n}": "" for n in range(1000)})),
    ],
)
def test_a_hundred_problems_are_named_and_the_others_counted(
    read: Callable[[str], dict[str, str]], content: str
) -> None:
    found = issues_of(read, content)
    assert (len(found), found[100]) == (101, ("", "900 more are left out."))


def test_reading_stops_after_ten_thousand_unusable_lines() -> None:
    assert issues_of(read_env, "=\n" * 12_000)[100] == ("", "At least 9,900 more are left out.")


@pytest.mark.parametrize(
    "unit",
    [" ", "\t", "# ", " x", "\\", "'", '"', "A='", 'A="\\', "=", "export ", "\n", "\r\n", "A=x  #\n", "'\n"],
)
@pytest.mark.parametrize("start", ["A=x", "A='", 'A="', "A", "", "A=1\n"])
def test_no_dotenv_text_makes_the_reader_slow(start: str, unit: str) -> None:
    content = start + unit * (30_000 // len(unit)) + "y"

    def read() -> None:
        with contextlib.suppress(ValidationFailed):
            read_env(content)

    assert least_seconds(read, 0.5, time.thread_time) < 0.5


def test_a_json_object_of_strings_is_read() -> None:
    assert read_json('{"A": "1", "_b": "", "C": "\\u0000\\n\\ud83d\\ude00"}') == {
        "A": "1",
        "_b": "",
        "C": "\0\n\N{GRINNING FACE}",
    }
    assert read_json(" {} ") == {}


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "{} x", "[]", "null", '"x"', "1", "{'A': '1'}", '{"A": "1",}', '{"A": NaN}'),
        *('{"A": -Infinity}', '{"A": "\n"}', "\ufeff{}", '[["A", "1"]]', "{//\n}"),
        *("[" * 100_000, '{"A":' * 100_000),
    ],
)
def test_what_is_not_one_strict_json_object_is_refused_as_a_whole(content: str) -> None:
    assert [issue.path for issue in issues_of(read_json, content)] == ["content"]


def test_a_text_that_is_not_json_is_refused_with_its_line() -> None:
    assert issues_of(read_json, '{\n"A": "1",\n"B": x\n}') == (Issue("content", "Line 3: it is not JSON."),)


@pytest.mark.parametrize(
    "value", ["1", "1.5", "1e999", "9" * 5000, "true", "null", "[]", "{}", '{"B": "1"}', '["a"]']
)
def test_a_json_value_that_is_not_a_string_is_named_by_its_key(value: str) -> None:
    assert [issue.path for issue in issues_of(read_json, f'{{"A": {value}, "B": "x"}}')] == ["content.A"]


def test_all_problems_of_a_json_object_are_told_at_once_and_in_order() -> None:
    content = (
        '{"A": "1", "A": "1", "B": 2, "C": "\\ud800", "1D": "", "E": "fine", "": "", "A": 3, "\\udfff": ""}'
    )
    paths = [issue.path for issue in issues_of(read_json, content)]
    assert paths == ["content.A", "content.B", "content.C", "content.1D", "content", "content.A", "content"]


def test_a_json_member_inside_another_object_is_no_repetition() -> None:
    assert [issue.path for issue in issues_of(read_json, '{"A": {"B": "1", "B": "1"}, "B": "1"}')] == [
        "content.A"
    ]


@pytest.mark.parametrize("key", ["A" * 257, "pass word\n", "ключ", "a\x7f"])
def test_a_json_key_that_cannot_be_a_path_is_named_by_its_position(key: str) -> None:
    (issue,) = issues_of(read_json, json.dumps({"OK": "", key: ""}))
    assert issue.path == "content"
    assert issue.message.startswith("Member 2: ")


@pytest.mark.parametrize(
    "content",
    [f'{{"A": ["{MARKER}"]}}', f'{{"A": "{MARKER}", "A": "{MARKER}"}}', f'{{"A": "{MARKER}', MARKER],
)
def test_a_refused_json_text_is_never_quoted(content: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        read_json(content)
    assert MARKER not in f"{caught.value.issues} {caught.value!r} {caught.value.__context__!r}"


@given(st.dictionaries(keys, values, max_size=5))
@example({"A": "x\\", "B": "\\", "C": '\\"', "D": "\\n", "E": "", "F": " ", "G": "#", "H": "'", "I": "\r"})
@example(
    {"A": "=", "B": "a #b", "C": "${A}", "D": "\r\n", "E": "\u2028", "F": "\0", "G": "\x85\x1c", "H": "~"}
)
def test_what_was_written_reads_back_to_the_same_values(expected: dict[str, str]) -> None:
    content = write_env(expected)
    assert read_env(content) == expected
    assert dotenv.dotenv_values(stream=io.StringIO(content), interpolate=False) == expected


@given(st.dictionaries(keys, values, max_size=5))
@example({"A": "\r", "B": "\r\n", "C": "a\r"})
def test_a_file_opened_as_text_reads_back_to_the_same_values(
    tmp_path_factory: pytest.TempPathFactory, expected: dict[str, str]
) -> None:
    file = _shared(tmp_path_factory) / "export.env"
    file.write_bytes(write_env(expected).encode())
    assert dotenv.dotenv_values(file, interpolate=False) == expected


def _shared(factory: pytest.TempPathFactory) -> Path:
    return factory.getbasetemp()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("", "A=\n"),
        ("postgresql://u:p@host:5432/db", "A=postgresql://u:p@host:5432/db\n"),
        ("two words", "A='two words'\n"),
        ("a#b $c", "A='a#b $c'\n"),
        ("naïve", "A='naïve'\n"),
        ("it's", 'A="it\'s"\n'),
        ("C:\\new", "A='C:\\new'\n"),
        ("C:\\dir\\", "A=C:\\dir\\ #\n"),
        ("a\nb", "A='a\nb'\n"),
        ("it's\n2", 'A="it\'s\n2"\n'),
        ("a\r\nb", 'A="a\\r\nb"\n'),
        ("\\\\host", 'A="\\\\\\\\host"\n'),
    ],
)
def test_a_value_is_written_in_the_plainest_form_that_is_safe(value: str, written: str) -> None:
    assert write_env({"A": value}) == written


def test_keys_are_written_in_order() -> None:
    assert write_env({"B": "2", "a": "3", "A": "1"}) == "A=1\nB=2\na=3\n"


@pytest.mark.parametrize("format", READERS)
def test_reading_stops_at_the_first_value_over_the_limit(format):
    pairs = {f"K{number}": "" for number in range(5)}
    content = "".join(f"{key}=\n" for key in pairs) if format == "env" else json.dumps(pairs)
    assert READERS[format](content, 5) == pairs
    assert len(READERS[format](content, 3)) == 4
    bad = content + "nonsense\n" if format == "env" else content[:-1] + ', "K0": 1}'
    assert len(READERS[format](bad, 4)) == 5
    for limit in (5, 9):
        with pytest.raises(ValidationFailed):
            READERS[format](bad, limit)


def test_a_bad_line_before_the_limit_is_told_and_not_the_limit():
    assert issues_of(lambda content: read_env(content, 1), "bad\nA=\nB=\nC=\nworse\n") == (
        Issue("content", "Line 1: the key has no '=' and no value."),
    )


@pytest.mark.slow
@pytest.mark.parametrize("line", ["#\n", "\n", "# x\r\n", " \t# =\r", "\x0b#\n", "K{}=\n"])
def test_a_file_of_the_largest_size_is_read_within_a_second(line):
    content = "".join(line.format(number) for number in range(2**20 // len(line)))[: 2**20]
    bound = 1.0 * slowness()
    assert least_seconds(lambda: read_env(content, 500), bound, time.thread_time) < bound


def test_what_a_reader_made_is_held_to_what_an_environment_may_hold() -> None:
    read = checked(lambda content, limit: {"FINE": "x", "not a key": "y", "NUMBER": 5, "LONE": "\ud800"})
    with pytest.raises(ValidationFailed) as caught:
        read("", 9)
    assert [issue.path for issue in caught.value.issues] == [
        "content",
        "content.NUMBER",
        "content.LONE",
    ]


def test_a_parser_of_dotenv_that_reads_otherwise_is_refused_at_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    formats = importlib.import_module("secretsvc.secrets.formats.imports")
    monkeypatch.setattr("dotenv.parser._unquoted_value", re.compile(r"([^\n\r]*)"))
    with pytest.raises(ImportError, match=r"constraints/run\.txt"):
        importlib.reload(formats)
    monkeypatch.undo()
    importlib.reload(formats)
