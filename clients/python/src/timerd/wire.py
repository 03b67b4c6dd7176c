# SPDX-License-Identifier: Apache-2.0
"""Requests and replies as lines of JSON."""
from __future__ import annotations

import json
import unicodedata
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Union

from .errors import ProtocolError, Refused, refusal
from .values import MOST_MARKS, with_few_marks

#: The longest line that a daemon sends: all replies of a batch are 16 MiB, one reply is far less.
LINE_LIMIT = 64 * 1024 * 1024

#: The longest line that a daemon takes.
REQUEST_LIMIT = 1024 * 1024

#: The deepest nesting that a daemon reads; the request itself is the first level.
_DEEPEST = 64

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Reply(NamedTuple):
    """`id` is None where the daemon could not tell what it answers."""

    id: Union[int, str, None]
    result: Any
    error: Optional[Refused]


class Notification(NamedTuple):
    method: str
    params: Dict[str, Any]


def encode(number: int, method: str, params: Union[Mapping[str, Any], bytes]) -> bytes:
    """One line. `params` may be encoded already."""
    said = params if isinstance(params, bytes) else encode_params(params)
    return b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}\n' % (number, _checked(_json(method)), said)


def encode_params(params: Mapping[str, Any]) -> bytes:
    """What JSON cannot say (NaN, half a character, a set), and what the daemon cannot read, is a ValueError or a TypeError, before anything is sent."""
    try:
        said = _json(params)
    except RecursionError:
        raise _too_deep() from None
    _check(params)
    return _checked(said)


def _checked(said: bytes) -> bytes:
    """The daemon's refusal would look like one of the connection, which ends with that, and the calls of others with it."""
    if not said.isascii():
        text = said.decode("utf-8")
        if with_few_marks(text) != text:
            raise ValueError("a text has more than %d marks in a row that combine with the character before them; the daemon takes no more" % MOST_MARKS)
    return said


def _json(value: Any) -> bytes:
    return _ENCODER.encode(value).encode("utf-8")


def _check(params: Mapping[str, Any]) -> None:
    """Level by level: what the daemon takes for no JSON. It is called with what can be written, so it comes to an end."""
    level: List[Any] = [params]
    for _ in range(_DEEPEST - 1):  # around the parameters is the request
        inner: List[Any] = []
        for container in level:
            values: Iterable[Any] = container
            if isinstance(container, dict):
                _check_keys(container)
                values = container.values()
            for value in values:
                if isinstance(value, (dict, list, tuple)):
                    inner.append(value)
                elif isinstance(value, int) and value.bit_length() >= 1024:
                    _check_size(value)
        level = inner
        if not level:
            return
    raise _too_deep()


def _check_size(value: int) -> None:
    try:
        int.__float__(value)
    except OverflowError:
        raise ValueError("a number has %d bits; accepted are numbers up to 1.8e308" % value.bit_length()) from None


def _check_keys(container: Mapping[Any, Any]) -> None:
    try:
        if "".join(container).isascii():
            return  # none can be the text of another
    except TypeError:
        pass  # not all are texts
    known = set()
    for key in container:
        # As JSON writes it, 1 and "1" are one text; and to the daemon so are both forms of a letter with an accent.
        text = unicodedata.normalize("NFC", next(iter(json.loads(_json({key: 0})))))
        if text in known:
            raise ValueError("an object has two keys that are '%s' as text; accepted is each text once, in whatever Unicode form" % text)
        known.add(text)


def _too_deep() -> ValueError:
    return ValueError("the parameters are nested too deeply; accepted are %d levels with the request's own" % _DEEPEST)


def _no_constant(word: str) -> Any:
    raise ValueError("%s is no JSON" % word)


def decode(line: bytes) -> Union[Reply, Notification]:
    """What a line says. Fields that are not known change nothing."""
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("timerd sent a line that is not JSON: %s" % error) from None
    if not isinstance(value, dict):
        raise ProtocolError("timerd sent a line that is no object")
    if isinstance(value.get("method"), str) and "id" not in value:
        params = value.get("params", {})
        if not isinstance(params, dict):
            raise ProtocolError("timerd sent a notification whose 'params' are no object")
        return Notification(value["method"], params)
    number = value.get("id")
    if "id" not in value or isinstance(number, bool) or not (number is None or isinstance(number, (int, str))):
        raise ProtocolError("timerd sent a reply without an id that can be read")
    said = value.get("error")
    if said is not None:
        if not isinstance(said, dict):
            raise ProtocolError("timerd sent an error that is no object")
        return Reply(number, None, refusal(said))
    if "result" not in value or number is None:
        raise ProtocolError("timerd sent a reply with neither 'result' nor 'error'")
    return Reply(number, value["result"], None)
