"""Import formats: a text to keys and values. Nothing read is ever quoted in an error."""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from json import JSONDecodeError
from typing import Any

from dotenv import parser
from dotenv.parser import Binding, parse_binding

from secretsvc.kernel.errors import MAX_COUNTED_ISSUES, Issue, ValidationFailed, refuse
from secretsvc.kernel.identifiers import SECRET_KEY_LENGTH, is_secret_key
from secretsvc.kernel.json import parse_json

#: A text to values by key, given how many values are enough to be too many. Raises ValidationFailed.
Reader = Callable[[str, int], Mapping[str, str]]

# Lines without a binding, as python-dotenv skips them one by one, but at once: it takes seconds for half a
# million of them. One with a lone surrogate is left for it to find.
_NO_BINDINGS = re.compile(r"(?:[^\S\r\n]*(?:#[^\r\n\ud800-\udfff]*)?(?:\r\n|\n|\r(?!\n)))*")
_NEWLINE = re.compile(r"\r\n|\n|\r")
_REST_OF_LINE = r"([^\r\n]*)"
_INLINE_COMMENT = re.compile(r"(?<=\s)#")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PRINTABLE = re.compile(r"[!-~]+")
_EXPANDABLE = re.compile(r"\$[A-Za-z_{]")
_CLOSED = re.compile(r"""\s*(["'])(?:\\\1|(?!\1).)*\1""", re.DOTALL)
_NO_KEY = "the key is not an environment variable name of at most 256 characters"


def read_env(content: str, limit: int | None = None) -> dict[str, str]:
    """Dotenv as python-dotenv reads it, with no interpolation (contract 3.5).

    It stops at the first value over the limit, which is among those returned, so that it is seen that
    there are too many. Raises ValidationFailed with an issue at `content` for each line that cannot be
    used, up to `MAX_COUNTED_ISSUES`: its number is that of the line on which the binding itself starts.
    """
    values: dict[str, str] = {}
    issues: list[Issue] = []
    for line, binding in _bindings(content):
        problem = _binding_problem(binding, values)
        if problem:
            issues.append(Issue("content", f"Line {line}: {problem}."))
            if len(issues) == MAX_COUNTED_ISSUES:
                raise ValidationFailed(issues=issues, at_least=True)
        elif binding.key is not None:
            values[binding.key] = binding.value
            if len(values) - 1 == limit:
                break
    refuse(issues)
    return values


def read_json(content: str, limit: int | None = None) -> dict[str, str]:
    """One JSON object of strings, with no member twice (contract 3.5).

    It stops as `read_env` does. Raises ValidationFailed with an issue for each problem: at `content.KEY` for
    a key's value or repetition, at `content` for a text that is not JSON or a key that cannot be named.
    """
    members = _members(content)
    values: dict[str, str] = {}
    issues: list[Issue] = []
    for number, (key, value) in enumerate(members, 1):
        issue = _member_issue(number, key, value, values)
        if issue:
            issues.append(issue)
        else:
            values[key] = value
            if len(values) - 1 == limit:
                break
    refuse(issues)
    return values


def expandable(values: Mapping[str, str]) -> list[str]:
    """The keys, sorted, whose values hold what other readers of dotenv might expand (contract 5.8)."""
    return sorted(key for key, value in values.items() if _EXPANDABLE.search(value))


def checked(read: Reader) -> Reader:
    """The reader of a format, of which nothing comes that no environment may hold, whoever wrote it."""

    def read_checked(content: str, limit: int) -> Mapping[str, str]:
        values = read(content, limit)
        issues = (_member_issue(number, *pair, ()) for number, pair in enumerate(values.items(), 1))
        refuse(filter(None, issues))
        return values

    return read_checked


class _Reader(parser.Reader):  # type: ignore[misc]  # it has no types of its own
    """python-dotenv's reader, which takes the comment off an unquoted value itself.

    The pattern that python-dotenv does this with takes quadratic time over white space: an import of
    the permitted size would keep a thread busy for hours. What it then sees is an empty value.
    """

    unquoted: str | None = None

    def read_regex(self, regex: re.Pattern[str]) -> Sequence[str]:
        groups: Sequence[str] = super().read_regex(regex)
        if regex.pattern != _REST_OF_LINE:
            return groups
        comment = _INLINE_COMMENT.search(groups[0])
        self.unquoted = groups[0][: comment.start() if comment else None].rstrip()
        return ("",)


def _check_parser() -> None:
    """Raises ImportError where python-dotenv reads unquoted values in a way that `_Reader` does not know."""
    reader = _Reader(io.StringIO("KEY=unquoted  # comment"))
    if parse_binding(reader).value != "" or reader.unquoted != "unquoted":
        raise ImportError(
            "this python-dotenv reads unquoted values in another way, perhaps in quadratic time: install the"
            " version that constraints/run.txt names"
        )


_check_parser()


def _bindings(content: str) -> Iterator[tuple[int, Binding]]:
    """Each binding with the number of the line it starts on, found by its position in the text.

    The parser's own count includes blank lines before a binding, and goes wrong after an error.
    """
    # As a text file is opened: every line end is a line feed (contract 10.2).
    reader = _Reader(io.StringIO(content, newline=None))
    starts = [match.end() for match in _NEWLINE.finditer(reader.string)]
    while reader.has_next():
        reader.read_regex(_NO_BINDINGS)
        offset = reader.position.chars
        binding = parse_binding(reader)
        unquoted, reader.unquoted = reader.unquoted, None
        if unquoted is not None:
            binding = binding._replace(value=unquoted)
        text = binding.original.string
        offset += len(text) - len(text.lstrip())
        yield bisect_right(starts, offset) + 1, binding


def _binding_problem(binding: Binding, earlier: Mapping[str, str]) -> str | None:
    if binding.error:
        return _why_unread(binding.original.string)
    if _SURROGATE.search(binding.original.string):
        return "it holds a lone surrogate"
    if binding.key is None:
        return None
    if not is_secret_key(binding.key):
        return _NO_KEY
    if binding.value is None:
        return "the key has no '=' and no value"
    return "the key was given before" if binding.key in earlier else None


def _why_unread(line: str) -> str:
    """Why python-dotenv makes nothing of a line: it does not say so itself."""
    name, equals, value = line.partition("=")
    words = name.split()
    key = " ".join(words[1:] if words[:1] == ["export"] else words)
    if not equals:
        return "there is no '=' in it"
    if not key:
        return "there is no key before the '='"
    if not is_secret_key(key):
        return _NO_KEY
    return "something follows the closing quote" if _CLOSED.match(value) else "the quote is not closed"


class _Members(tuple[tuple[str, Any], ...]):
    """An object's members as they were written, those given twice included."""

    __slots__ = ()


def _members(content: str) -> _Members:
    problem = "It must be one JSON object whose values are strings."
    try:
        # Numbers are refused below whatever their size, so none is ever computed.
        parsed = parse_json(content, members=_Members, number=len)
        if isinstance(parsed, _Members):
            return parsed
    except JSONDecodeError as error:
        problem = f"Line {error.lineno}: it is not JSON."
    except (ValueError, RecursionError):
        problem = "It is not JSON."
    raise ValidationFailed.at("content", problem)


def _member_issue(number: int, key: str, value: object, earlier: Container[str]) -> Issue | None:
    if not is_secret_key(key):
        # A name of any length and any characters may be a value that was put in the wrong place.
        short = len(key) <= SECRET_KEY_LENGTH and _PRINTABLE.fullmatch(key)
        path = f"content.{key}" if short else "content"
        return Issue(path, f"Member {number}: {_NO_KEY}.")
    if key in earlier:
        return Issue(f"content.{key}", "The key was given before.")
    if not isinstance(value, str):
        return Issue(f"content.{key}", "The value is not a string.")
    if _SURROGATE.search(value):
        return Issue(f"content.{key}", "The value holds a lone surrogate.")
    return None
