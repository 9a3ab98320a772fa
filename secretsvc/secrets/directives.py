"""The directive for formats of import and export, and the formats that come along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyramid.exceptions import ConfigurationError

from secretsvc.secrets.rules.formats import (
    Reader,
    Writer,
    checked,
    encode_env,
    encode_json,
    read_env,
    read_json,
)
from secretsvc.web.declaring import declare

_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")
_MEDIA = re.compile(r"[a-z]+/[a-z0-9.+-]+")
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Written:
    """How an export leaves in a format."""

    write: Writer
    media: str


@dataclass(frozen=True, slots=True)
class Formats:
    """What there is, by name: the labels for people, and what reads and writes."""

    labels: dict[str, str] = field(default_factory=dict)
    readers: dict[str, Reader] = field(default_factory=dict)
    writers: dict[str, Written] = field(default_factory=dict)
    #: The media types of exports, in order.
    media: dict[str, None] = field(default_factory=dict)

    def take(self, body: dict[str, Any]) -> dict[str, Any]:
        """An import's values with what reads it, in place of its format's name."""
        return {name: value for name, value in body.items() if name != "format"} | {
            "read": self.readers[body["format"]]
        }


def add_format(
    config: Any,
    name: str,
    *,
    read: Reader | None = None,
    write: Writer | None = None,
    media: str = "text/plain",
    label: str | None = None,
) -> None:
    """Directive: a format of imports, of exports, or of both; its name is a file's extension.

    `read` makes values by key of a text, and may stop at one value more than the limit that it is given;
    `write` makes UTF-8 of values, `media` its type. Two of one name conflict. Raises `ConfigurationError`.
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
            formats.writers[name] = Written(write, media)
            formats.media[media] = None

    declare(config, "format", name, register)


def written(request: Any, name: str, values: Mapping[str, str]) -> Any:
    """The answer to an export in a format, as a file of it would be."""
    found, response = request.registry.formats.writers[name], request.response
    response.content_type, response.charset = found.media, "utf-8"
    response.body = found.write(values)
    return response


def includeme(config: Any) -> None:
    """Registers the directive, and the two formats by it."""
    config.registry.formats = Formats()
    config.add_directive("add_format", add_format)
    config.add_format("env", read=read_env, write=encode_env)
    config.add_format("json", read=read_json, write=encode_json, media=JSON, label="JSON")
