"""Two environments in plain Python: what comparing, copying and restoring make of their states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import reference_model
from hypothesis import strategies as st
from reference_model import Entry, Model, keys, reasons


def compare(here: Mapping[str, Entry], there: Mapping[str, Entry]) -> list[tuple[Any, ...]]:
    """Key, kind and both versions of every key of either state, sorted."""
    found = []
    for key in sorted({*here, *there}):
        one, other = here.get(key), there.get(key)
        if one is None or other is None:
            kind = "here" if other is None else "there"
        else:
            kind = "same" if one.value == other.value else "differs"
        found.append((key, kind, one and one.version, other and other.version))
    return found


def copy(here: Model, source: Model, body: Mapping[str, Any]) -> bool | None:
    """Whether it changed anything, None where the service must refuse it."""
    rev, named = body["from_rev"], body["keys"]
    if (here is source and rev is None) or (rev or 0) > source.rev or named == []:
        return None
    if named is not None and body["mode"] == "replace":
        return None
    state = source.present if rev is None else source.states[rev]
    if named is not None and {*named} - state.keys():
        return None
    taken = {key: one.value for key, one in state.items() if named is None or key in named}
    values = _otherwise(here, taken)
    if body["existing"] == "skip":
        values = {key: value for key, value in values.items() if key not in here.present}
    if body["existing"] == "refuse" and values.keys() & here.present.keys():
        return None
    removals = here.present.keys() - taken.keys() if body["mode"] == "replace" else ()
    had = here.descriptions.get if here is source else source.described
    return here.write("secret.copy", values, removals, {key: had(key) for key in values}, body["reason"])


def restore(here: Model, rev: int, reason: str | None) -> bool | None:
    """As `copy`."""
    if rev > here.rev:
        return None
    values = _otherwise(here, here.exported(rev))
    described = {key: here.descriptions[key] for key in values}
    return here.write(
        "secret.restore", values, here.present.keys() - here.exported(rev).keys(), described, reason
    )


def _otherwise(here: Model, taken: Mapping[str, str]) -> dict[str, str]:
    present = here.exported(here.rev)
    return {key: value for key, value in taken.items() if present.get(key) != value}


revs = st.integers(0, 6)
copies = st.fixed_dictionaries(
    {
        "same": st.booleans(),
        "keys": st.none() | st.none() | st.lists(keys, max_size=3),
        "mode": st.sampled_from(["merge", "merge", "replace"]),
        "existing": st.sampled_from(["overwrite", "overwrite", "skip", "refuse"]),
        "from_rev": st.none() | revs,
        "dry_run": st.sampled_from([False, False, True]),
        "reason": reasons,
    }
)
restores = st.fixed_dictionaries({"to_rev": revs, "dry_run": st.booleans(), "reason": reasons})
#: Steps of a history of two environments: which of them, the verb, and what is asked.
steps = st.tuples(
    st.sampled_from([0, 1]),
    st.one_of(
        reference_model.writes,
        st.tuples(st.just("copy"), copies),
        st.tuples(st.just("copy"), copies),
        st.tuples(st.just("restore"), restores),
        st.tuples(st.just("compare"), st.tuples(revs, revs)),
    ),
)
both_histories = st.lists(steps, max_size=14)
