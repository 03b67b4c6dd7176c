# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions: one class for each reason that timerd gives, and a few of the client's own."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type


class TimerdError(Exception):
    """All errors of this package. `reason` is the word that programs go by, `message` the text for people."""

    reason: Optional[str] = None

    def __init__(self, message: str, reason: Optional[str] = None, code: Optional[int] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        if reason is not None:
            self.reason = reason

    def __reduce__(self) -> Any:
        return (type(self), (self.message, self.reason, self.code))


class ConnectionFailed(TimerdError):
    """The client could not ask, or did not hear the answer."""


class CannotConnect(ConnectionFailed):
    """Nobody listens on the socket; nothing was asked."""

    reason = "cannotConnect"

    #: Somebody listens, and has more connections to accept than the kernel keeps.
    is_full = False


class ConnectionLost(ConnectionFailed):
    """The connection ended before the reply was there: the request was carried out, or was not."""

    reason = "connectionLost"


class NotSent(ConnectionLost):
    """The connection ended before the whole request had left: it was not carried out."""


class TimedOut(ConnectionFailed):
    """The reply did not come in time: the request was carried out, or was not, or will be."""

    reason = "timedOut"


class ProtocolError(ConnectionFailed):
    """What came is no reply of timerd's protocol."""

    reason = "protocolError"


def located(error: ConnectionFailed, path: str) -> ConnectionFailed:
    """The same, with the socket in its text, of what nobody knew the socket of."""
    return type(error)(error.message.replace("timerd ", "timerd at '%s' " % path, 1))


class Refused(TimerdError):
    """What timerd answered in place of a result; also with a reason that this version does not know."""

    #: It does not take the connection, or ends it, and has carried out nothing of what was not answered.
    of_connection = False


class ParseError(Refused):
    reason = "parseError"


class InvalidRequest(Refused):
    reason = "invalidRequest"


class UnknownMethod(Refused):
    reason = "unknownMethod"


class InvalidParams(Refused):
    reason = "invalidParams"


class InternalError(Refused):
    reason = "internalError"


class BadSchedule(Refused):
    reason = "badSchedule"


class NotFound(Refused):
    reason = "notFound"


class NameTaken(Refused):
    reason = "nameTaken"


class Conflict(Refused):
    reason = "conflict"


class NotPermitted(Refused):
    reason = "notPermitted"


class LimitReached(Refused):
    reason = "limitReached"


class StorageFailed(Refused):
    """The database could not take it; nothing was changed, unless the message says otherwise.

    It may be asked again later.
    """

    reason = "storageFailed"


class Stopping(Refused):
    """The daemon is stopping, or its node leads no more; nothing was changed."""

    reason = "stopping"


class LeaseLost(Refused):
    """The task is not this attempt's any more: whatever is said of it is refused, and what it did counts for nothing."""

    reason = "leaseLost"


_CODES: Dict[int, Type[Refused]] = {
    -32700: ParseError,
    -32600: InvalidRequest,
    -32601: UnknownMethod,
    -32602: InvalidParams,
    -32603: InternalError,
    -32000: BadSchedule,
    -32001: NotFound,
    -32002: NameTaken,
    -32003: Conflict,
    -32004: NotPermitted,
    -32005: LimitReached,
    -32006: StorageFailed,
    -32007: Stopping,
    -32008: LeaseLost,
}
_REASONS: Dict[str, Type[Refused]] = {str(kind.reason): kind for kind in _CODES.values()}


def refusal(error: Mapping[str, Any]) -> Refused:
    """The exception for an error of a reply. What is not known becomes `Refused`, with all that was said."""
    code = error.get("code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    data = error.get("data")
    reason = data.get("reason") if isinstance(data, dict) else error.get("reason")
    word = reason if isinstance(reason, str) else None
    kind = _REASONS.get(word) if word is not None else _CODES.get(number) if number is not None else None
    message = error.get("message")
    return (kind or Refused)(message if isinstance(message, str) else "timerd refused, and did not say why", word, number)
