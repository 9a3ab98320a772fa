"""A format for import and export: a key, a tab, the value as JSON; one secret a line."""

import json

from secretsvc.kernel.errors import ValidationFailed


def read_tsv(content, limit):
    values = {}
    for number, line in enumerate(content.splitlines(), 1):
        key, tab, value = line.partition("\t")
        try:
            values[key] = json.loads(value) if tab else None
        except ValueError:
            raise ValidationFailed.at("content", f"Line {number}: it is not JSON.") from None
    return values


def write_tsv(values):
    return "".join(f"{key}\t{json.dumps(value)}\n" for key, value in sorted(values.items())).encode()
