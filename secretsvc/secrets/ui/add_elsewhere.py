"""New keys of a review are added to other environments, too, each of which has a review of its own then.

Each leads on to the next with the form that it was sent: a browser repeats it there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote_plus, urlencode

from secretsvc.kernel.identifiers import is_slug
from secretsvc.projects.resources import Project
from secretsvc.secrets.domain.related import MissingIn
from secretsvc.secrets.ui.matrix import may_write
from secretsvc.secrets.ui.review import NAMED
from secretsvc.web.forms import Form
from secretsvc.web.request import ServiceRequest
from secretsvc.web.responses import RelativeResponse
from secretsvc.web.tree import PAGES, Node

PREFIX = "also."
#: What a review's form has at most beside what it carries, in bytes: a reason, the token, the choices.
BESIDE = 8_192


@dataclass(frozen=True, slots=True)
class Offer:
    """An environment that lacks so many of the new keys, and whether it was chosen."""

    slug: str
    name: str
    number: int
    is_chosen: bool


def offers(context: Node, request: ServiceRequest, missing: Mapping[str, Sequence[MissingIn]]) -> list[Offer]:
    """The environments that the caller may add new keys to: the few that lack most of them."""
    counts = Counter(one for lacking in missing.values() for one in lacking)
    writable = [one for one, _ in counts.most_common() if may_write(context, request, one.slug)]
    marked = chosen_environments(request.form)
    return [Offer(one.slug, one.name, counts[one], one.slug in marked) for one in writable[:NAMED]]


def fits(request: ServiceRequest, carried: Mapping[str, str], keys: Sequence[str]) -> bool:
    """Whether a review's form that names the keys, too, is no larger than a body may be."""
    size = len(urlencode(carried)) + len(quote_plus(",".join(keys)))
    return size + BESIDE <= request.call.settings.body_max_bytes


def chosen_environments(form: Form) -> list[str]:
    """The slugs that a form names, sorted."""
    return sorted(slug for slug, mark in form.under(PREFIX) if mark and is_slug(slug))


def redirect_to_next_review(context: Node, form: Form) -> RelativeResponse | None:
    """Sends the form on to the review of the next environment that it names; none where that was the last."""
    here = context.address.environment or ""
    begins = here == form["from"]
    left = [slug for slug in chosen_environments(form) if slug != form["from"] and (begins or slug > here)]
    if not left:
        return None
    project = next(node for node in context.lineage() if isinstance(node, Project))
    path = f"{project.path(PAGES)}/environments/{left[0]}/copy-review"
    return RelativeResponse(status=307, location=path)
