# SPDX-License-Identifier: Apache-2.0
"""Values as timerd says them: durations, dates, texts."""
from __future__ import annotations

import math
import re
import unicodedata
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Mapping, Sequence, Union

#: A systemd time span such as "1h 30min", seconds, or a timedelta.
Duration = Union[str, int, float, timedelta]
#: Words that timerd understands, such as "tomorrow 9:00", or a datetime with a zone.
Date = Union[str, datetime]
#: A job, a queue, an event as timerd tells them: their fields are those of docs/protocol.md.
Json = Dict[str, Any]


def duration(value: Duration) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, timedelta)):
        raise TypeError("a duration is a text such as '5min', seconds or a timedelta, not %r" % (value,))
    if isinstance(value, timedelta):
        milliseconds = -((-value) // timedelta(milliseconds=1))
    else:
        if not math.isfinite(value):
            raise ValueError("a duration cannot be %r" % value)
        milliseconds = math.ceil(round(value * 1000, 6))
    if milliseconds < 0:
        raise ValueError("a duration cannot be negative: %r" % (value,))
    return "0s" if milliseconds == 0 else "%dms" % milliseconds


def date(value: Date) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, datetime):
        raise TypeError("a date is a text or a datetime, not %r" % (value,))
    if value.utcoffset() is None:
        raise ValueError("the datetime %s has no zone; accepted are those with tzinfo" % value.isoformat())
    return value.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_PARTS = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6})Z")


def read_date(text: str) -> datetime:
    """A date of an answer as a datetime in UTC."""
    match = _PARTS.fullmatch(text)
    if match is None:
        raise ValueError("'%s' is no date of timerd, such as 2026-12-01T08:00:00.000000Z" % text)
    year, month, day, hour, minute, second, fraction = (int(part) for part in match.groups())
    return datetime(year, month, day, hour, minute, second, fraction, timezone.utc)


def texts(what: str, value: Sequence[str]) -> List[str]:
    """A list of texts. A single one, which is a sequence of its letters as well, is a mistake."""
    if isinstance(value, (str, bytes)):
        raise TypeError("%s is a list of texts, not the text %r" % (what, value))
    return list(value)


def without_none(values: Mapping[str, Any]) -> Json:
    return {name: value for name, value in values.items() if value is not None}


#: As many marks that combine with the character before them, such as accents, a daemon takes in a row.
MOST_MARKS = 64
_ROW = re.compile("\u0301{%d,}" % (MOST_MARKS + 1))


def with_few_marks(text: str) -> str:
    """Without those marks that are too many: a line with such a row is refused, and with it all that it says."""
    marks = {} if text.isascii() else {ord(char): 0x301 for char in set(text) if _may_be_mark(char)}
    kept, end = [], 0
    for row in _ROW.finditer(text.translate(marks)) if marks else ():
        kept.append(text[end : row.start() + MOST_MARKS])
        end = row.end()
    return "".join(kept) + text[end:]


def _may_be_mark(char: str) -> bool:
    # What this Python does not know may be one to the daemon, but in the planes of ideographs.
    is_unknown = unicodedata.category(char) == "Cn" and not "\U00020000" <= char <= "\U0003ffff"
    return is_unknown or unicodedata.combining(char) != 0


def bounded(text: str, most: int = 4096) -> str:
    """At most so many bytes of UTF-8, no half of a character, and no more marks in a row than a daemon takes."""
    data = with_few_marks(text).encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode("utf-8")
    return data[: most - 3].decode("utf-8", "ignore") + "\u2026"


_UNITS = {
    "us usec µs μs": 1e-6,
    "ms msec": 1e-3,
    "s sec second seconds": 1.0,
    "m min minute minutes": 60.0,
    "h hr hour hours": 3600.0,
    "d day days": 86400.0,
    "w week weeks": 604800.0,
    "M month months": 2629800.0,
    "y year years": 31557600.0,
}
_SECONDS = {"": 1.0, **{word: length for words, length in _UNITS.items() for word in words.split()}}
_PART = re.compile(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([^\W\d_]*)\s*")


def seconds(text: str) -> float:
    """The length of a duration, for the client's own clocks; the words are systemd's, as in the daemon."""
    total, at = 0.0, 0
    while at < len(text) or at == 0:
        part = _PART.match(text, at)
        if part is None or part.group(2) not in _SECONDS:
            raise ValueError("'%s' is no duration such as 5s or 1h 30min" % text)
        total += float(part.group(1)) * _SECONDS[part.group(2)]
        at = part.end()
    return total
