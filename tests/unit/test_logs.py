"""Log records as lines of JSON."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from secretsvc.web.json_logging import JsonFormatter


def line_of(message: str, *values: object, exc_info=None, **extra: object):
    record = logging.getLogger("a.b").makeRecord(
        "a.b", logging.WARNING, __file__, 1, message, values, exc_info, extra=extra
    )
    record.created = 1_700_000_000.1239
    line = JsonFormatter().format(record)
    assert line.isascii()
    assert "\n" not in line
    return json.loads(line)


HEAD = {"time": "2023-11-14T22:13:20.123Z", "level": "WARNING", "logger": "a.b"}


@pytest.mark.parametrize("text", ["plain", 'quo"ted', "two\nlines\r\u2028", "\ud800", "\0\x1b[31m"])
def test_a_record_is_one_line_of_ascii_whatever_it_says(text):
    assert line_of("%s!", text) == HEAD | {"message": f"{text}!"}


def test_fields_take_the_place_of_the_message():
    assert line_of("readable", fields={"status": 200, "route": None}) == HEAD | {"status": 200, "route": None}
    assert line_of("readable", fields={"odd": {1}}) == HEAD | {"odd": "{1}"}


def test_of_an_exception_its_text_is_left_out():
    try:
        raise ValueError("hunter2")
    except ValueError:
        made = line_of("it failed", exc_info=sys.exc_info())
    assert made["exception"] == "ValueError"
    assert "test_logs.py" in made["traceback"]
    assert 'ValueError("hunter2")' in made.pop("traceback")
    assert "hunter2" not in str(made)
