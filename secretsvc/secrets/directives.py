"""The directive for formats of import and export, and the formats that come along."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import cast

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError
from pyramid.response import Response

from secretsvc.kernel.errors import ValidationFailed
from secretsvc.secrets.formats.exports import (
    NamedWriter,
    Writer,
    encode_docker,
    encode_env,
    encode_json,
    encode_kubernetes,
    encode_shell,
)
from secretsvc.secrets.formats.imports import Reader, checked, read_env, read_json
from secretsvc.web.registration import declare
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import Values

_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")
_MEDIA = re.compile(r"[a-z]+/[a-z0-9.+-]+")
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """How an export leaves in a format."""

    write: Writer | NamedWriter
    media: str
    #: Whether the file names what it holds.
    is_named: bool

    def writer(self, name: str | None, usual: str) -> Writer:
        """What writes, under a name where the format has one. Raises `ValidationFailed` where it has none."""
        if self.is_named:
            write = cast(NamedWriter, self.write)
            return lambda values: write(values, name or usual)
        if name is not None:
            raise ValidationFailed.at("name", "Is not for this format.")
        return cast(Writer, self.write)


@dataclass(frozen=True, slots=True)
class Formats:
    """What there is, by name: the labels for people, and what reads and writes."""

    labels: dict[str, str] = field(default_factory=dict)
    readers: dict[str, Reader] = field(default_factory=dict)
    writers: dict[str, ExportFormat] = field(default_factory=dict)
    #: The media types of exports, in order.
    media: dict[str, None] = field(default_factory=dict)

    def take(self, body: Values) -> Values:
        """An import's values with what reads it, in place of its format's name."""
        return {name: value for name, value in body.items() if name != "format"} | {
            "read": self.readers[body["format"]]
        }


def add_format(
    config: Configurator,
    name: str,
    *,
    read: Reader | None = None,
    write: Writer | NamedWriter | None = None,
    media: str = "text/plain",
    label: str | None = None,
    named: bool = False,
) -> None:
    """Directive: a format of imports, of exports, or of both; its name is a file's extension.

    `read` makes values by key of a text, and may stop at one value more than the limit that it is given;
    `write` makes UTF-8 of values, `media` its type; it raises `ValidationFailed` for what it cannot carry,
    and with `named` is given what the file calls itself, too. Two of one name conflict. Raises
    `ConfigurationError`.
    """
    read, write = config.maybe_dotted(read), config.maybe_dotted(write)
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"format {name!r}: take a lower-case word, such as a file's extension")
    if not (read or write) or not all(one is None or callable(one) for one in (read, write)):
        raise ConfigurationError(f"format {name!r} neither reads nor writes: give read=, write= or both")
    if not _MEDIA.fullmatch(media) or (media == JSON and name != "json"):
        raise ConfigurationError(
            f"format {name!r} has the media type {media!r}: take one of its own, such as text/x-notes"
        )
    formats: Formats = config.registry.formats

    def register() -> None:
        formats.labels[name] = label or f".{name}"
        if read is not None:
            formats.readers[name] = checked(read)
        if write is not None:
            formats.writers[name] = ExportFormat(write, media, named)
            formats.media[media] = None

    declare(config, "format", name, register)


def sent(request: ServiceRequest, name: str, content: bytes) -> Response:
    """The answer to an export in a format, as a file of it would be."""
    found, response = request.registry.formats.writers[name], request.response
    response.content_type = found.media
    # YAML is UTF-8 by its own rules, and has no parameter that says so.
    response.charset = "utf-8" if found.media.startswith("text/") else None
    response.body = content
    return response


def includeme(config: Configurator) -> None:
    """Registers the directive, and the formats by it."""
    config.registry.formats = Formats()
    config.add_directive("add_format", add_format)
    config.add_format("env", read=read_env, write=encode_env)
    config.add_format("json", read=read_json, write=encode_json, media=JSON, label="JSON")
    config.add_format("shell", write=encode_shell, label="Shell")
    config.add_format("docker", write=encode_docker, label="Docker")
    config.add_format(
        "kubernetes", write=encode_kubernetes, media="application/yaml", label="Kubernetes", named=True
    )
