"""Environment files are read by systemd's rules."""

from __future__ import annotations

import pytest

from secretsvc.deployment.environment_files import read_environment


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("A=1\nB=2", {"A": "1", "B": "2"}),
        ("# A=1\n ; B=2\n\n  C=3\n", {"C": "3"}),
        ("A=1\nA=2\n", {"A": "2"}),
        ("A=\nB=\n", {"A": "", "B": ""}),
        ("A = 1 \n", {"A": "1"}),
        ("A=a b  c\t\nB=#b ;c\n", {"A": "a b  c", "B": "#b ;c"}),
        ("A='a \"b\" $c \\d'\n", {"A": 'a "b" $c \\d'}),
        ('A="a \'b\' \\$c \\"d\\" \\\\ \\e"\n', {"A": "a 'b' $c \"d\" \\ \\e"}),
        ("A='one'\"two\"three\n", {"A": "onetwothree"}),
        ("A='one' 'two'\nB=3\n", {"A": "onetwo", "B": "3"}),
        ('A=it\'s "so"\n', {"A": 'it\'s "so"'}),
        ("A=one\\\ntwo\nB=3\n", {"A": "onetwo", "B": "3"}),
        ('A="one\\\ntwo\nthree"\nB=3\n', {"A": "onetwo\nthree", "B": "3"}),
        ("A=a\\ \\nb\n", {"A": "a nb"}),
        ("A=postgresql://u:p%40s=$s@h/d?x=1\r\nB=2\r\n", {"A": "postgresql://u:p%40s=$s@h/d?x=1", "B": "2"}),
        ("", {}),
    ],
)
def test_what_systemd_reads_is_read(text, variables):
    assert read_environment(text) == (variables, ())


def test_the_lines_that_systemd_ignores_are_numbered():
    found = read_environment("A=1\nexport B=2\nno assignment\n9C=3\nD=4\n")
    assert found == ({"A": "1", "D": "4"}, (2, 3, 4))
