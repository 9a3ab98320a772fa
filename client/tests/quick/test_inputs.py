"""Values and files from a pipe: empty input, line ends, byte order marks, encodings (contract 16.9)."""

from __future__ import annotations

import pytest

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def values(service):
    """Reads the present values behind the client's back."""

    def read():
        return service.user().get("/projects/shop/environments/prod/secrets:export").json["secrets"]

    return read


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        (("set", "A"), b""),
        (("set", "A"), b"\r\n"),
        (("set", "A"), BOM + b"\n"),
        (("set", "A", "--file", "-"), b""),
        (("set", "A", "--file", "/dev/null"), b""),
        (("import", "-", "--replace"), b""),
        (("import", "-", "--replace"), b"# nothing\r\n\n  # here\n"),
        (("import", "-", "--replace"), "# a\u2028b\n#a\x0cb\n".encode()),
        (("import", "-", "--replace", "--dry-run"), BOM),
        (("import", "-", "--replace", "--format", "json"), b" {} "),
    ],
)
def test_an_empty_input_is_refused_unless_it_is_allowed(ask, real, values, arguments, content):
    ask("set", "A", stdin=b"kept", **real())
    done = ask(*arguments, stdin=content, **real())
    assert (done.code, values()) == (2, {"A": "kept"})
    assert "--allow-empty" in done.err
    assert ask(*arguments, "--allow-empty", stdin=content, **real()).code == 0


def test_an_import_without_a_key_changes_nothing_if_it_is_merged(ask, real, values):
    ask("set", "A", stdin=b"kept", **real())
    assert ask("import", "-", stdin=b"# nothing\n", **real()).code == 0
    assert values() == {"A": "kept"}


@pytest.mark.parametrize(
    ("content", "piped", "from_file"),
    [
        (b"a\r\n", "a", "a\r\n"),
        (b"a\r\n\r\n", "a\r\n", "a\r\n\r\n"),
        (b"a\r", "a\r", "a\r"),
        (b"a\r\nb\n", "a\r\nb", "a\r\nb\n"),
        (BOM + b"a\n", "a", "a\n"),
    ],
)
def test_one_line_end_of_a_pipe_and_a_mark_are_left_out(ask, real, values, content, piped, from_file):
    assert ask("set", "A", stdin=content, **real()).code == 0
    assert ask("set", "B", "--file", "-", stdin=content, **real()).code == 0
    assert values() == {"A": piped, "B": from_file}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("arguments", [("set", "A"), ("import", "-")], ids=" ".join)
def test_utf_16_is_refused_by_name(ask, real, values, arguments, encoding):
    done = ask(*arguments, stdin="A=Grüße\r\n".encode(encoding), **real())
    assert (done.code, values()) == (6, {})
    assert "UTF-16" in done.err


def test_a_value_with_a_nul_is_not_taken_for_utf_16(ask, real, values):
    assert ask("set", "A", stdin=b"some\0value", **real()).code == 0
    assert values() == {"A": "some\0value"}


def test_line_ends_of_windows_are_no_part_of_an_imported_value(ask, real, values):
    content = BOM + b'K="-----BEGIN X-----\r\nabc\r\n-----END X-----\r\n"\r\nB=2\r\n'
    assert ask("import", "-", stdin=content, **real()).code == 0
    assert values() == {"K": "-----BEGIN X-----\nabc\n-----END X-----\n", "B": "2"}
