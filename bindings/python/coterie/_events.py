"""Server-sent events out of lines (HTML Living Standard 9.2.6). Pure."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LINE_BYTES_MAX = 64 * 1024
DATA_CHARACTERS_MAX = 256 * 1024
ID_CHARACTERS_MAX = 128


@dataclass(frozen=True)
class Event:
    """One of what docs/OPERATING.md lists: `kind` is "round_done", "round", "over" ...; `data` is its JSON."""

    id: str
    kind: str
    data: dict[str, Any]


class EventParser:
    def __init__(self, last_id: str = ""):
        self.last_id = last_id  # to go on from
        self._kind, self._data = "", ""
        self._has_data = False

    def take(self, line: bytes) -> Event | None:
        """A line without its end; the event that it ends, if it does. ValueError: longer than anything a server says."""
        if len(line) > LINE_BYTES_MAX:
            raise ValueError("a line of the stream is too long")
        text = line.decode("utf-8", "replace")
        if not text:
            return self._end()
        field, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._kind = value
        elif field == "data":
            self._data += ("\n" if self._has_data else "") + value
            self._has_data = True
            if len(self._data) > DATA_CHARACTERS_MAX:
                raise ValueError("an event of the stream is too long")
        elif field == "id" and len(value) <= ID_CHARACTERS_MAX and value.isascii() and value.isprintable():
            self.last_id = value
        return None  # a comment, retry, or a field that is not known

    def _end(self) -> Event | None:
        kind, data, has_data = self._kind or "message", self._data, self._has_data
        self._kind, self._data, self._has_data = "", "", False
        if not has_data:
            return None
        parsed = json.loads(data)
        if not isinstance(parsed, dict):
            raise ValueError("an event of the stream is no JSON object")
        return Event(self.last_id, kind, parsed)
