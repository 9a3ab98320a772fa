"""The table of errors (specification, "Errors"): a code's status, and what its page tells people to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel import errors
from secretsvc.kernel.errors import SecretsvcError
from secretsvc.web.registration import declare
from secretsvc.web.request import ServiceRequest

_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
#: Of an error of which nothing better can be said.
ADVICE = "Try again. If it happens again, tell the operator the request id below."


class ErrorCode(NamedTuple):
    """A row of the table."""

    status: int
    advice: str


def add_error(
    config: Configurator, error: type[SecretsvcError] | str, status: int, advice: str = ADVICE
) -> None:
    """Directive: an error, by its code: its status, and what a page tells whoever meets it to do next.

    Two of one code conflict. Raises `ConfigurationError` for what is no error with a code and a message, and
    for a status that tells of no failure.
    """
    error = config.maybe_dotted(error)
    code = getattr(error, "code", None)
    if not (isinstance(error, type) and issubclass(error, SecretsvcError)):
        named = getattr(error, "__qualname__", error)
        raise ConfigurationError(
            f"{named} is no error of secretsvc: derive it from secretsvc.kernel.errors.SecretsvcError"
        )
    if not isinstance(code, str) or not _CODE.fullmatch(code) or not hasattr(error, "default_message"):
        raise ConfigurationError(
            f"error {error.__qualname__} needs a code in capitals, such as NOTE_LOCKED, and a default_message"
        )
    if not 400 <= status <= 599:
        raise ConfigurationError(f"error {code} has the status {status}: take one from 400 to 599")
    codes: dict[str, ErrorCode] = config.registry.error_codes
    declare(config, "error", code, lambda: codes.__setitem__(code, ErrorCode(status, advice)))


def status_of(request: ServiceRequest, error: SecretsvcError) -> int:
    """The status of an error that was registered."""
    found: ErrorCode = request.registry.error_codes[error.code]
    return found.status


def includeme(config: Configurator) -> None:
    """Registers the directive, and the errors of the specification by it."""
    config.registry.error_codes = {}
    config.add_directive("add_error", add_error)
    for error, status, advice in BUILT_IN:
        config.add_error(error, status, advice)


BUILT_IN: tuple[tuple[type[SecretsvcError], int, str], ...] = (
    (errors.BadRequest, 400, "Go back and try again."),
    (
        errors.Unauthenticated,
        401,
        "Your session may have ended. Open the service in another tab to sign in again through your access"
        " proxy, then come back to this one.",
    ),
    (
        errors.Forbidden,
        403,
        "Ask an administrator of this project or environment for a grant, and name the request id below.",
    ),
    (
        errors.NotFound,
        404,
        "Ask an administrator of the place for a grant, and name the request id below.",
    ),
    (errors.Conflict, 409, "Go back and choose another name, or use what exists already."),
    (
        errors.VersionConflict,
        409,
        "Others are writing to the same environment. Go back and send it again.",
    ),
    (errors.LastAdmin, 409, "Give somebody else a global admin role first."),
    (
        errors.PreconditionFailed,
        412,
        "Somebody changed it in the meantime. Go back and look at what changed.",
    ),
    (errors.PayloadTooLarge, 413, "Send less at once, or ask the operator to raise the limit."),
    (errors.ValidationFailed, 422, "Go back and correct what is named here."),
    (errors.RateLimited, 429, "Wait a moment, then try again."),
    (errors.Internal, 500, ADVICE),
    (
        errors.DecryptFailed,
        500,
        "The stored value was damaged or moved. Roll the secret back to an older version, or write it again.",
    ),
    (
        errors.UnknownKid,
        500,
        "The master key that sealed it is not loaded. Tell the operator which one is named above.",
    ),
    (errors.ServerMisconfigured, 500, "Tell the operator: the log of the service names the setting."),
    (errors.NotSupported, 501, ADVICE),
    (
        errors.NoAdminsConfigured,
        503,
        "The operator has to name a first administrator in BOOTSTRAP_ADMINS.",
    ),
    (
        errors.IdentityProviderUnavailable,
        503,
        "The access proxy cannot be reached. Try again in a minute.",
    ),
    (errors.Unavailable, 503, "Wait a moment, then try again."),
)
