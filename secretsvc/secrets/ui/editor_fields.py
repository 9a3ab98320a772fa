"""The fields of the editor: what they ask for, which of them are carried on, and what they are called."""

from __future__ import annotations

import hmac
from collections import defaultdict
from collections.abc import Mapping, Set
from hashlib import sha256

from secretsvc.kernel.errors import Issue, PayloadTooLarge, ValidationFailed, refuse
from secretsvc.kernel.identifiers import is_secret_key
from secretsvc.kernel.text_areas import as_sent
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.domain.editor import Edits
from secretsvc.secrets.queries.plan import CHANGED
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.ui import line_ends
from secretsvc.secrets.write.write import WriteOutcome
from secretsvc.web.forms import Form
from secretsvc.web.schema import validate

BOTH = "It is both changed and marked for deletion. Undo one."
#: Fields of a row for a secret that is there, each with its key behind the dot.
ROW_FIELDS = ("value.", "empty.", "shown.", "was.", "description.", "delete.")


def read_edits(form: Form) -> Edits:
    """What the rows of the editor ask for. Raises `ValidationFailed` with an issue for each field at fault.

    A value left blank stays, be it in a row for a new secret whose key is there already; an empty one is
    asked for by itself. A description counts where it is another than it was.
    """
    fields = {key: f"value.{key}" for key, text in form.under("value.") if text}
    values = {key: line_ends.text_of(form, field) for key, field in fields.items()}
    described, removals = changed_descriptions(form), _marked(form, "delete.")
    issues = []
    for key in _marked(form, "empty."):
        if key in values:
            issues.append(Issue(f"empty.{key}", "A value was typed as well: take out one of the two."))
        values[key] = ""
    issues += [Issue(f"value.{key}", BOTH) for key in removals if key in values]
    blank, known = set(), {*values, *removals}
    for row, key in new_keys(form):
        if not is_secret_key(key):
            issues.append(Issue(f"new.{row}.key", schemas.KEY_GRAMMAR))
        elif key in known:
            issues.append(Issue(f"new.{row}.key", exists(key)))
        elif key in values:
            issues.append(Issue(f"new.{row}.key", "Given twice."))
        else:
            fields[key] = f"new.{row}.value"
            values[key] = line_ends.text_of(form, fields[key])
            if description := form[f"new.{row}.description"].strip():
                described[key] = description
            blank |= set() if values[key] else {key}
    if issues:
        raise ValidationFailed(issues=tuple(issues))
    body = {"mode": "merge", "set": values, "descriptions": described, "delete": removals}
    read = validate(schemas.BatchBody(), body)
    typed = {key: value for key, value in read["set"].items() if key not in blank}
    as_given = {
        key for key in typed.keys() & fields.keys() if line_ends.exact_of(form, fields[key]) is not None
    }
    return Edits(typed, read["descriptions"], read["delete"], blank, as_given)


def exists(key: str) -> str:
    """Return what is wrong with a new key that is there already."""
    return f"{key} exists."


def check_new_keys(form: Form, written: WriteOutcome) -> None:
    """Raise `ValidationFailed` where a row for a new secret has the key of one that is there."""
    known = {one.key for one in written.changes if one.kind == CHANGED}
    known |= {*written.unchanged, *written.described}
    taken = [(row, key) for row, key in new_keys(form) if key in known]
    refuse([Issue(f"new.{row}.key", exists(key)) for row, key in taken])


def rows_of(form: Form) -> list[str]:
    """The names of the rows for new secrets that the editor's form has, in their order."""
    typed = {name.partition(".")[0] for name, _ in form.under("new.")}
    return sorted(typed, key=lambda name: (len(name), name))


def check_rows(form: Form, limit: int) -> None:
    """Raises `PayloadTooLarge` for more rows for new secrets than an environment holds."""
    if len(rows_of(form)) > limit:
        raise PayloadTooLarge(
            f"An environment holds at most {limit} secrets.",
            hint=f"Of the rows for new ones this page has kept the first {limit}.",
        )


def typed_keys(form: Form) -> set[str]:
    """The keys for which something else was typed than there was."""
    return {key for key, text in form.under("value.") if text} | changed_descriptions(form).keys()


def changed_descriptions(form: Form) -> dict[str, str | None]:
    """The descriptions that are others than they were, by key; None for a blank one.

    Browsers take the line breaks out of what they show on one line.
    """
    return {
        key: text.strip() or None
        for key, text in form.under("description.")
        if _on_one_line(text) != _on_one_line(form[f"was.{key}"])
    }


def carried_edits(form: Form) -> dict[str, str]:
    """The editor's fields of the rows that change; the others are drawn as they are."""
    edits = read_edits(form)
    keys = {*edits.values, *edits.descriptions, *edits.removals}
    carried = {
        name: text
        for name, text in form.values.items()
        if (name.startswith("new.") and text)
        or (name.startswith(ROW_FIELDS) and name.partition(".")[2] in keys)
    }
    beside = line_ends.fields_beside(form)
    return carried | {name: beside[name] for one in carried if (name := line_ends.PREFIX + one) in beside}


def give_up(form: Form) -> None:
    """Takes out what is theirs by the choices of a conflict, fields `keep.KEY`, and the choices too."""
    choices, rows = dict(form.under("keep.")), defaultdict[str, list[str]](list)
    for row, new in new_keys(form):
        rows[new].append(row)
    for key, choice in choices.items():
        del form.values[f"keep.{key}"]
        if choice == "theirs":
            for name in (f"{field}{key}" for field in ROW_FIELDS):
                form.values.pop(name, None)
        for row in rows[key]:
            _take_out(form, row, None if choice == "theirs" else key)


def _take_out(form: Form, row: str, key: str | None) -> None:
    """Take out a row for a new secret; with a key, move its fields to the row of the secret that is there."""
    field, description = f"new.{row}.value", form[f"new.{row}.description"]
    if key is not None and form[field]:
        line_ends.copy(form, field, f"value.{key}")
    for part in ("key", "value", "description"):
        form.values.pop(f"new.{row}.{part}", None)
    if key is not None and description:
        form.values |= {f"description.{key}": description, f"was.{key}": ""}


def mark_shown(call: UseCaseContext, form: Form, key: str, value: str) -> None:
    """Puts a value into its row, with a mark by which it is known later that it was not typed.

    The mark is that of the text which a browser sends back for the value.
    """
    # Of a paste that was cleared the exact text is left: the value would match it, and count as pasted.
    line_ends.drop(form, f"value.{key}")
    form.values[f"value.{key}"] = value
    form.values[f"shown.{key}"] = _mark(call, key, value)


def drop_shown(call: UseCaseContext, form: Form) -> None:
    """Takes out the values that were only shown."""
    for key, mark in list(form.under("shown.")):
        if shows_value(call, form, key, mark):
            del form.values[f"value.{key}"]
        del form.values[f"shown.{key}"]


def shows_value(call: UseCaseContext, form: Form, key: str, mark: str) -> bool:
    """Whether what stands in a row is the value that it was shown with."""
    value = form.values.get(f"value.{key}")
    expected = _mark(call, key, value or "")
    return value is not None and hmac.compare_digest(mark.encode(), expected.encode())


def remove_picked(form: Form) -> None:
    """Marks the keys that were picked for deletion."""
    for key, mark in list(form.under("pick.")):
        if mark:
            form.values[f"delete.{key}"] = "1"


def stage(form: Form, values: Mapping[str, str], known: Set[str], *, replaces: bool) -> None:
    """Puts values into the rows of their keys, or into new ones; `replaces` has the other keys deleted.

    The syntax of a paste names line ends and NUL, so that a value is exactly what was pasted.
    """
    present = {key for _, key in new_keys(form)}
    for number, (key, value) in enumerate(values.items()):
        if key in known:
            line_ends.put(form, f"value.{key}" if value else f"empty.{key}", value or "1")
            # With the mark, a paste that looks like a revealed value would count as only shown.
            for name in (f"delete.{key}", f"shown.{key}"):
                form.values.pop(name, None)
        elif key not in present:
            form.values[f"new.{FIRST_STAGED + number}.key"] = key
            line_ends.put(form, f"new.{FIRST_STAGED + number}.value", value)
    if replaces:
        for key in known - values.keys():
            form.values[f"delete.{key}"] = "1"
            form.values.pop(f"value.{key}", None)
    form.values["paste"] = ""
    for row in rows_of(form):
        if not any(form[f"new.{row}.{part}"] for part in ("key", "value", "description")):
            for part in ("key", "value", "description"):
                form.values.pop(f"new.{row}.{part}", None)


#: Rows of pasted keys are numbered from here on, beyond those that were typed.
FIRST_STAGED = 100_000


def name_editor_fields(form: Form) -> None:
    """Says what people know the editor's fields by, so that problems can be told in their words."""
    rows = rows_of(form)
    new = {key: row for row, key in new_keys(form)}
    for issue in form.issues:
        kind, _, rest = issue.path.partition(".")
        if kind == "new":
            row = rest.rpartition(".")[0]
            form.label(issue.path, f"New secret, row {rows.index(row) + 1 if row in rows else row}")
        elif kind == "content":
            # Problems of a text name their lines, or their keys, themselves.
            form.label(issue.path, rest, "content")
        elif rest in new:
            part = "description" if kind.startswith("description") else "value"
            form.label(issue.path, rest, f"new.{new[rest]}.{part}")
        elif kind in ("set", "value", "empty", "delete", "description", "descriptions"):
            form.label(issue.path, rest, "content" if "content" in form.values else f"value.{rest}")


def _mark(call: UseCaseContext, key: str, value: str) -> str:
    return hmac.new(call.ring.subkey(b"shown"), f"{key}={as_sent(value)}".encode(), sha256).hexdigest()


def new_keys(form: Form) -> list[tuple[str, str]]:
    """The rows for new secrets that are not blank, by their number."""
    rows = {name.partition(".")[0] for name, text in form.under("new.") if text.strip()}
    return [(row, form[f"new.{row}.key"].strip()) for row in sorted(rows)]


def _marked(form: Form, prefix: str) -> list[str]:
    return [key for key, mark in form.under(prefix) if mark]


def _on_one_line(text: str) -> str:
    return text.translate({ord("\r"): None, ord("\n"): None}).strip()
