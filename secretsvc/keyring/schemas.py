"""What clients send and get of the key ring."""

from __future__ import annotations

from secretsvc.web.schema import Body, Integer, IntegerText, required


class RekeyBody(Body):
    """`POST /admin/rekey`."""

    limit = required(Integer(minimum=1, maximum=1000))


class RekeyForm(Body):
    """The same as a form sends it."""

    limit = required(IntegerText(minimum=1, maximum=1000))
