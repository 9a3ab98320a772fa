"""What a request was admitted to hold of plaintext: it grows to its answer, and ends when that has left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pyramid.config import Configurator
from pyramid.interfaces import IViewDeriverInfo
from pyramid.response import Response

from secretsvc.kernel.budget import PlaintextReservation
from secretsvc.web.request import ServiceRequest, call_of
from secretsvc.web.responses import DeferredPage

#: In the WSGI environ of our server: a list. What is put there is called, without arguments, once the answer
#: has left or its connection is gone, by whichever thread notices, and must not wait.
ON_SENT = "secretsvc.on_sent"


def admission_of(request: ServiceRequest) -> PlaintextReservation | None:
    """What the request holds, None where it was not admitted to anything."""
    call = call_of(request)
    admission = None if call is None else call.admission
    return admission if admission is not None and admission.held else None


def plaintext_view(view: Callable[..., Response], _info: IViewDeriverInfo) -> Callable[..., Response]:
    """View deriver: an answer with values may be longer than they are, and that must be admitted too.

    It is inside the transaction: what is refused here leaves no record of values that were given. Raises
    `Unavailable`.
    """

    def wrapper(context: object, request: ServiceRequest) -> Response:
        response = view(context, request)
        admission = admission_of(request)
        if admission is not None and not isinstance(response, DeferredPage):
            admission.reach(response.content_length or 0)
        return response

    return wrapper


def hold_until_sent(request: ServiceRequest, response: Response) -> None:
    """Releases what the request holds once the answer has left, or at once if that has no values.

    A page is longer than what was admitted, and recorded, before it was drawn: that much is forced.
    """
    admission = admission_of(request)
    if admission is None:
        return
    if response.status_int >= 400:
        admission.release()
        return
    size = response.content_length
    admission.reach(size or 0, forced=True)
    on_sent = request.environ.get(ON_SENT)
    if on_sent is not None:
        on_sent.append(lambda: _let_go(response, admission))
        return
    response.app_iter = _Closing(response.app_iter, admission.release)
    response.content_length = size


def release(request: ServiceRequest) -> None:
    """Releases what the request holds: there will be no answer."""
    admission = admission_of(request)
    if admission is not None:
        admission.release()


def _let_go(response: Response, admission: PlaintextReservation) -> None:
    """Drops the values at once; in the cycle of request and answer they would wait for garbage collection."""
    response.app_iter = ()
    admission.release()


class _Closing:
    """What a server sends; at its end, which a server tells by `close`, something is done."""

    def __init__(self, chunks: Iterable[bytes], done: Callable[[], None]) -> None:
        self._chunks, self._done = chunks, done

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._chunks)

    def close(self) -> None:
        """By the server, once (PEP 3333)."""
        self._chunks = ()
        self._done()


def includeme(config: Configurator) -> None:
    """Registers the deriver around what renders."""
    config.add_view_deriver(plaintext_view, under="secured_view", over="rendered_view")
