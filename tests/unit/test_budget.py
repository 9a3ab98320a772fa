"""The bound on plaintext: never passed, never more than a quarter for one identity, nothing left behind."""

from __future__ import annotations

import threading
from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secretsvc.kernel.budget import PlaintextBudget
from secretsvc.kernel.errors import Unavailable

BOUND = 100
QUARTER = BOUND // 4
ADA, BOB, CYD, DAN, EVE = map(UUID, map("{:032}".format, range(5)))

steps = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from(["grow", "reach", "release"]),
        st.integers(0, QUARTER + 3),
    ),
    max_size=60,
)


# Beside other workers the first draws may take seconds.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_whatever_is_asked_it_holds_what_was_granted_and_never_more_than_the_bounds(asked):
    budget = PlaintextBudget(lambda: BOUND)
    owners = [ADA, BOB, CYD, DAN, EVE, ADA, ADA, BOB]
    requests, granted = [budget.admission(owner) for owner in owners], [0] * len(owners)
    for number, what, size in asked:
        request = requests[number]
        if what == "release":
            request.release()
            granted[number] = 0
        else:
            with suppress(Unavailable):
                getattr(request, what)(size)
                granted[number] = granted[number] + size if what == "grow" else max(granted[number], size)
        assert [one.held for one in requests] == granted
        assert budget.held == sum(granted) <= BOUND
        for owner in owners:
            mine = zip(owners, granted, strict=True)
            assert sum(held for whose, held in mine if whose == owner) <= QUARTER
    for request in requests:
        request.release()
        request.release()
    assert budget.held == 0
    assert vars(budget)["_shares"] == {}


def test_four_identities_fill_it_and_a_fifth_waits_until_one_has_gone():
    budget = PlaintextBudget(lambda: BOUND)
    first, *others = (budget.admission(one) for one in (ADA, BOB, CYD, DAN))
    for one in (first, *others):
        one.grow(QUARTER)
    last = budget.admission(EVE)
    with pytest.raises(Unavailable) as refused:
        last.grow(1)
    assert refused.value.retry_after > 0
    assert refused.value.hint is None
    first.release()
    last.grow(QUARTER)


def test_an_identity_has_one_quarter_for_all_of_its_requests():
    budget = PlaintextBudget(lambda: BOUND)
    budget.admission(ADA).grow(QUARTER)
    with pytest.raises(Unavailable) as refused:
        budget.admission(ADA).grow(1)
    assert refused.value.hint is None


def test_what_can_never_be_granted_says_who_can_change_that():
    with pytest.raises(Unavailable) as refused:
        PlaintextBudget(lambda: BOUND).admission(ADA).grow(QUARTER + 1)
    assert "PLAINTEXT_MAX_BYTES" in (refused.value.hint or "")


def test_nothing_is_always_granted_and_what_is_forced_counts_for_the_others():
    budget = PlaintextBudget(lambda: BOUND)
    budget.admission(ADA).grow(0)
    page = budget.admission(ADA)
    page.reach(BOUND, forced=True)
    with pytest.raises(Unavailable):
        budget.admission(BOB).grow(1)
    budget.admission(BOB).grow(0)
    page.release()
    assert budget.held == 0


def test_threads_leave_nothing_behind():
    budget = PlaintextBudget(lambda: BOUND)

    def work(owner: UUID) -> None:
        for size in range(400):
            request = budget.admission(owner)
            with suppress(Unavailable):
                request.grow(size % QUARTER)
                assert budget.held <= BOUND
            request.release()

    threads = [threading.Thread(target=work, args=(one,)) for one in (ADA, ADA, BOB, CYD, EVE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.held == 0
