"""Log records as lines of JSON, whatever handler writes them: `production.ini` names the formatter."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime

# Made once: `json.dumps` would make one for each line.
_encode = json.JSONEncoder(default=str, separators=(",", ":")).encode


class JsonFormatter(logging.Formatter):
    """One JSON object a record: `time`, `level`, `logger`, and its `fields`, or else its `message`.

    Of an exception it tells the class and the stack: the text of one may hold values.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line of ASCII, whatever the record holds."""
        moment = datetime.fromtimestamp(record.created, UTC)
        document: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
        }
        fields = getattr(record, "fields", None)
        document |= {"message": record.getMessage()} if fields is None else fields
        if record.exc_info and record.exc_info[0]:
            document["exception"] = record.exc_info[0].__qualname__
            document["traceback"] = "".join(traceback.format_tb(record.exc_info[2]))
        return _encode(document)
