"""What `make test-long` does more of than `make test-all`."""

from __future__ import annotations

import extent
import pytest


@pytest.fixture(params=[False, True], ids=["usual", "long"])
def is_long(request, monkeypatch):
    monkeypatch.setattr(extent, "_takes_all", False)
    if request.param:
        extent.take_all()
    return request.param


def test_the_larger_amount_is_for_long_runs_alone(is_long):
    assert extent.amount(3, 900) == (900 if is_long else 3)


def test_a_sample_is_the_same_each_time_in_order_and_whole_in_long_runs(is_long):
    cases = range(300, 600)
    found = extent.sample(cases, 12)
    assert found == extent.sample(cases, 12) == sorted(set(found))
    assert len(found) == (300 if is_long else 12)


def test_a_sample_of_few_cases_is_all_of_them(is_long):
    assert extent.sample(["a", "b"], 2) == extent.sample(["a", "b"], 5) == ["a", "b"]


def test_chance_is_fixed_except_in_long_runs_which_tell_their_seed(is_long, capsys):
    first, second = (extent.chance().random() for _ in range(2))
    assert (first == second) is not is_long
    assert capsys.readouterr().out.count("seed ") == 2


def test_a_file_that_takes_more_in_long_runs_is_marked_so_that_they_find_it(here):
    files = [*(here / "tests").rglob("test_*.py"), *(here / "client" / "tests").rglob("test_*.py")]
    users = {path.name for path in files if "from extent import" in path.read_text("utf-8")}
    marked = {path.name for path in files if "pytest.mark.long" in path.read_text("utf-8")}
    assert len(users) > 10
    assert users <= marked
