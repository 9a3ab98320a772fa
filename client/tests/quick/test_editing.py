"""What is written for an editor is read back, and edits of two are put together."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import secretsvc_client
from secretsvc_client.editing import merge, parse, write
from secretsvc_client.errors import WrongUse
from secretsvc_client.private import memory_folder

KEYS = st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True)
TEXTS = st.one_of(st.text(), st.text("'\"\\\n\r\t #=$\x7f\x85\u2028\ufeff a"))


@pytest.mark.slow
@settings(deadline=None)
@given(st.dictionaries(KEYS, TEXTS, max_size=5))
def test_what_is_written_is_read_back(values):
    assert parse("# comment\n" + write(values)) == values


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("A=1\nwhat\n", 2),
        ("A=1\nA=2", 2),
        ("a b=1", 1),
        ("A='x", 1),
        ('A="x', 1),
        ("A='x' y", 1),
        ("B='\n\n'\n=1", 4),
        ('A="\\x"', 1),
    ],
    ids=range(8),
)
def test_what_says_nothing_sensible_is_refused_by_its_line(text, number):
    with pytest.raises(WrongUse, match=rf"line {number}\b"):
        parse(text)


def test_people_may_leave_spaces_and_empty_lines():
    assert parse('\n  A = x y  \n\n# B=1\n\tB="a\nb"') == {"A": "x y", "B": "a\nb"}


def test_edits_of_different_keys_are_both_kept():
    base = {"A": "1", "B": "1", "C": "1"}
    merged = merge(base, {"A": "2", "B": "1", "C": "1", "D": "4"}, {"A": "1", "C": "3"})
    assert (merged.values, merged.conflicts) == ({"A": "2", "C": "3", "D": "4"}, [])


@pytest.mark.parametrize(
    ("ours", "theirs", "conflicts"),
    [
        ({"A": "2"}, {"A": "3"}, ["A"]),
        ({"A": "2"}, {"A": "2"}, []),
        ({}, {"A": "3"}, ["A"]),
        ({"A": "2"}, {}, ["A"]),
        ({}, {}, []),
    ],
    ids=["both", "alike", "removed here", "removed there", "removed by both"],
)
def test_edits_of_one_key_are_a_conflict_unless_they_are_alike(ours, theirs, conflicts):
    merged = merge({"A": "1"}, ours, theirs)
    assert (merged.values, merged.conflicts) == (ours, conflicts)


@pytest.fixture
def edit(ask, real, home):
    """Edits with an editor that is a shell script over `$1`; every folder for drafts is below `memory`."""
    memory = home / "memory"
    memory.mkdir()

    def run(script, *arguments, **variables):
        editor = home / "editor"
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o755)
        ours = {"EDITOR": str(editor), "XDG_RUNTIME_DIR": str(memory), **variables}
        return ask("edit", *arguments, **{**real(), **ours})

    run.memory = memory
    return run


def present(service):
    found = service.user().get("/projects/shop/environments/prod/secrets:export").json
    return found["rev"], found["secrets"]


def write_behind(service, **values):
    body = {"mode": "merge", "set": values}
    service.user().post("/projects/shop/environments/prod/secrets:batch", body)


def test_an_edit_writes_what_was_changed_and_leaves_no_file(edit, service):
    write_behind(service, A="1", B="1", C="x\ny")
    done = edit('sed -i -e s/^A=.*/A=2/ -e /^B=/d "$1"; echo D=4 >> "$1"', "--reason", "why")
    assert done.code == 0
    assert present(service) == (2, {"A": "2", "C": "x\ny", "D": "4"})
    assert list(edit.memory.iterdir()) == []


def test_an_edit_that_changes_nothing_writes_nothing(edit, service):
    write_behind(service, A="1")
    assert edit("true").code == 0
    assert present(service)[0] == 1


def test_the_draft_is_private(edit, home):
    edit('stat -c %a "$1" "$(dirname "$1")" > ../modes')
    assert (home / "modes").read_text().split() == ["600", "700"]


def test_an_editor_that_fails_writes_nothing_and_keeps_what_was_typed(edit, service):
    untouched = edit("exit 1")
    assert (untouched.code, list(edit.memory.iterdir())) == (1, [])
    done = edit('echo A=typed >> "$1"; exit 1')
    (kept,) = edit.memory.glob("*/secrets.env")
    assert done.code == 1
    assert str(kept) in done.err
    assert "A=typed" in kept.read_text()
    assert present(service)[0] == 0


def test_what_cannot_be_read_is_shown_again_with_what_is_wrong(edit, service):
    mend = 'sed -i s/^nonsense/A=1/ "$1"'
    assert edit(f'if grep -q \'# ERROR: line\' "$1"; then {mend}; else echo nonsense >> "$1"; fi').code == 0
    assert present(service) == (1, {"A": "1"})


def behind(real, key, value):
    """The line of an editor's script by which somebody else writes meanwhile, once."""
    variables = " ".join(f"{name}='{text}'" for name, text in real().items())
    folder = os.path.dirname(os.path.dirname(secretsvc_client.__file__))
    return (
        f"[ -e ../once ] || {{ : > ../once; printf {value} | env {variables} PYTHONPATH={folder}"
        f" {sys.executable} -m secretsvc_client set {key} > ../behind 2>&1; }}"
    )


def test_what_others_write_to_other_keys_meanwhile_is_kept(edit, real, service):
    write_behind(service, A="1", B="1")
    done = edit(f'{behind(real, "B", "theirs")}; sed -i s/^A=.*/A=mine/ "$1"')
    assert done.code == 0, done.err
    assert present(service) == (3, {"A": "mine", "B": "theirs"})


def test_what_others_write_to_the_same_key_is_asked_about(edit, real, service):
    write_behind(service, A="1")
    show = 'grep -q CONFLICT "$1" && cp "$1" ../conflict'
    done = edit(f'{behind(real, "A", "theirs")}; {show}; sed -i s/^A=.*/A=mine/ "$1"')
    assert done.code == 0, done.err
    assert present(service) == (3, {"A": "mine"})
    shown = (edit.memory.parent / "conflict").read_text()
    assert '# A is "theirs" there' in shown
    assert "A=mine" in shown


def test_an_edit_that_is_refused_keeps_what_was_typed(edit, service):
    service.grant("ann@example.com", "reader", "shop/prod")
    done = edit('echo A=typed >> "$1"', SECRETSVC_TOKEN=service.issuer.sign("ann@example.com"))
    assert done.code == 4
    assert [kept.read_text().splitlines()[-1] for kept in edit.memory.glob("*/secrets.env")] == ["A=typed"]
    assert present(service)[0] == 0


@pytest.mark.parametrize("script", [r"s/$/\r/", r"1s/^/\xef\xbb\xbf/", r"1s/^/\xef\xbb\xbf/;s/$/\r/"])
def test_an_editor_that_saves_another_form_changes_no_value(edit, service, script):
    values = {"A": "1", "B": "x\ny\n", "C": "x\r\ny\r\n", "D": "'\r", "E": "it's\nhere"}
    write_behind(service, **values)
    done = edit(f'sed -i \'{script}\' "$1"; echo F=new >> "$1"')
    assert done.code == 0, done.err
    assert present(service) == (2, {**values, "F": "new"})
    assert ("byte order mark" in done.err) == ("xef" in script)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_an_editor_that_saves_no_utf_8_is_named(edit, service, encoding):
    code = f"import pathlib,sys; pathlib.Path(sys.argv[1]).write_bytes('A=ü'.encode('{encoding}'))"
    done = edit(f'{sys.executable} -c "{code}" "$1"')
    assert done.code == 6
    assert ("UTF-16" if "16" in encoding else "not UTF-8") in done.err
    assert present(service)[0] == 0


def test_an_editor_that_empties_the_file_removes_nothing(edit, service):
    write_behind(service, A="1")
    assert edit(': > "$1"').code == 2
    assert present(service) == (1, {"A": "1"})


def test_a_system_without_memory_says_that_the_values_are_on_disk(capsys, tmp_path):
    memory_folder((str(tmp_path),))
    assert capsys.readouterr().err == ""
    made = memory_folder((None, "/nowhere"))
    made.rmdir()
    assert f"on disk in {made}" in capsys.readouterr().err
