# SPDX-License-Identifier: Apache-2.0
"""Requests and replies as lines of JSON."""
from __future__ import annotations

import json
from typing import Any, Dict, Mapping, NamedTuple, Optional, Union

from .errors import ProtocolError, Refused, refusal

#: The longest line that a daemon sends: all replies of a batch are 16 MiB, one reply is far less.
LINE_LIMIT = 64 * 1024 * 1024

#: The longest line that a daemon takes.
REQUEST_LIMIT = 1024 * 1024


class Reply(NamedTuple):
    """`id` is None where the daemon could not tell what it answers."""

    id: Union[int, str, None]
    result: Any
    error: Optional[Refused]


class Notification(NamedTuple):
    method: str
    params: Dict[str, Any]


def encode(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    """One line. What JSON cannot say (NaN, half a character, a set) is a ValueError or a TypeError, before anything is sent."""
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8") + b"\n"


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
