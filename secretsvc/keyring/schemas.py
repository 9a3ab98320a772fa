"""What clients send and get of the key ring."""

from __future__ import annotations

from secretsvc.web.schema import Body, Boolean, Integer, IntegerText, Items, Text, required

KID = Text(minimum=16, maximum=16)


class RekeyBody(Body):
    """`POST /admin/rekey`."""

    limit = required(Integer(minimum=1, maximum=1000))


class RekeyForm(Body):
    """The same as a form sends it."""

    limit = required(IntegerText(minimum=1, maximum=1000))


class Rekeyed(Body):
    """The outcome of a page."""

    rekeyed = required(Integer())
    remaining = required(Integer())


class Key(Body):
    """A master key by its kid."""

    kid = required(KID)
    active = required(Boolean())
    held = required(Boolean())
    rows = required(Integer())


class KeyRing(Body):
    """The ring and its rows."""

    active_kid = required(KID)
    keys = required(Items(Key()))
    safe = required(Boolean(), name="safeToRemoveOldKey")
