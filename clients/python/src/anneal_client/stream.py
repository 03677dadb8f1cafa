"""Server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StreamedEvent:
    """One event of a stream: its id, its name (``message`` where it has none), and its data from JSON."""

    id: str
    name: str
    data: Any


def parse(chunks: Iterable[bytes]) -> Iterator[StreamedEvent]:
    """The events in the bytes of a stream, as the HTML standard defines them."""
    id, name, data = "", "message", list[str]()
    for line in _lines(chunks):
        if line == "":
            if data:
                yield StreamedEvent(id, name, json.loads("\n".join(data)))
            name, data = "message", []
            continue
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "id":
            id = value
        elif key == "event":
            name = value
        elif key == "data":
            data.append(value)


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")
