"""What is made by `struct` is a data class like any other."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Generic, TypeVar

import orjson
import pytest

from secretsvc.kernel.structs import struct

T = TypeVar("T")


def declare(decorator):
    """Two classes, which are made by either decorator."""

    @decorator
    class Gate:
        """A way in."""

        slug: str
        code: str = field(default="", repr=False)
        seen: int = field(default=0, compare=False)
        open_to: list[str] = field(default_factory=list)

        @property
        def title(self):
            return self.slug.capitalize()

    @decorator
    class Garden(Gate, Generic[T]):
        trees: T | None = None

        def __post_init__(self):
            self.open_to.append("gardeners")

    return Gate, Garden


OURS, THEIRS = declare(struct), declare(dataclass(unsafe_hash=True))


@pytest.mark.parametrize("which", [0, 1])
def test_it_is_made_shown_and_taken_apart_as_a_data_class(which):
    ours, theirs = (kinds[which]("north", "1234", open_to=["all"]) for kinds in (OURS, THEIRS))
    assert is_dataclass(ours)
    assert ours.title == "North"
    assert repr(ours) == repr(theirs)
    assert "1234" not in repr(ours)
    assert asdict(ours) == asdict(theirs)
    assert orjson.dumps(ours) == orjson.dumps(theirs)
    assert [one.name for one in fields(ours)] == [one.name for one in fields(theirs)]
    assert OURS[which].__match_args__ == THEIRS[which].__match_args__
    assert OURS[which]("north").open_to is not OURS[which]("north").open_to


@pytest.mark.parametrize("decorator", [struct, dataclass(unsafe_hash=True)])
def test_it_is_equal_and_hashed_by_its_fields(decorator):
    class_, below = declare(decorator)
    one, other = class_("north", seen=1, open_to=()), class_("north", seen=2, open_to=())
    # Whichever method is called first.
    assert hash(one) == hash(other)
    assert one == other
    assert one != replace(one, code="1")
    assert one != below("north", open_to=[])
    assert one != ("north", "", ())
    assert len({one, other, replace(one, slug="south")}) == 2


@pytest.mark.parametrize("decorator", [struct, dataclass])
def test_what_it_is_not_given_is_an_error_of_its_class(decorator):
    class_, _ = declare(decorator)
    with pytest.raises(TypeError, match=r"Gate\.__init__\(\) missing 1 required positional argument: 'slug'"):
        class_()
    with pytest.raises(TypeError, match="unexpected keyword argument 'sluggish'"):
        class_("north", sluggish=True)


def test_a_method_of_its_own_is_kept():
    @struct
    class Lock:
        key: str

        def __repr__(self):
            return "a lock"

        def __eq__(self, other):
            return isinstance(other, Lock)

    assert repr(Lock("1")) == "a lock"
    assert Lock("1") == Lock("2")


def test_a_class_below_calls_its_own_beginning_and_that_of_the_struct():
    Gate, _ = declare(struct)

    class Hatch(Gate):
        def __init__(self, number):
            super().__init__(f"hatch-{number}")

    assert [Hatch(1).slug, Hatch(2).slug, Gate("north").slug] == ["hatch-1", "hatch-2", "north"]
