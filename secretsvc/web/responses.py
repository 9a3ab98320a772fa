"""Responses: those of ours, and pages that are drawn after the transaction.

To draw a page may take long, and who draws must not keep writers waiting: the view says what is to be drawn,
the transaction ends, and only then is it drawn. So templates cannot read the database (decision 0023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyramid.interfaces import IViewDeriverInfo
from pyramid.renderers import RendererHelper
from pyramid.response import Response

from secretsvc.web.request import ServiceRequest, View
from secretsvc.web.tree import Node
from secretsvc.web.view_options import reads_option


class RelativeResponse(Response):  # type: ignore[misc]  # it has no types of its own
    """A response whose `Location` stays relative: made absolute, it would repeat the client's `Host`."""

    def _abs_headerlist(self, _environ: object) -> list[tuple[str, str]]:
        return [*self.headerlist]


class DeferredPage(RelativeResponse):
    """A page that is yet to be drawn: it stands for the response that `draw` makes."""

    def __init__(self, draw: Callable[[], Response]) -> None:
        super().__init__()
        self.draw = draw


def render_deferred(response: Response) -> Response:
    """The response as it leaves. To be called outside of the transaction; raises what its template does."""
    return response.draw() if isinstance(response, DeferredPage) else response


@reads_option("page")
def drawing_view(view: View, info: IViewDeriverInfo) -> View:
    """View deriver: of what a page's view returns for its template it makes a `DeferredPage`."""
    template: RendererHelper | None = info.options["renderer"]
    if info.options.get("page") is None or template is None:
        return view

    def wrapper(context: Node, request: ServiceRequest) -> object:
        result = view(context, request)
        if not isinstance(result, Mapping):
            return result
        other = request.__dict__.pop("override_renderer", None)
        helper = RendererHelper(other, info.package, info.registry) if other else template
        return DeferredPage(lambda: helper.render_view(request, result, view, context))

    return wrapper
