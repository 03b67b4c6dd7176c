# SPDX-License-Identifier: Apache-2.0
"""The log of the workers."""
from __future__ import annotations

import logging
from typing import Any


class Log:
    """As a logger, but that nothing of the program's own ends a worker: neither a filter that raises nor an exception that cannot be described."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def warning(self, text: str, *args: Any, exc_info: Any = None) -> None:
        self._say(logging.WARNING, text, args, exc_info)

    def error(self, text: str, *args: Any) -> None:
        self._say(logging.ERROR, text, args, None)

    def _say(self, level: int, text: str, args: Any, exc_info: Any) -> None:
        try:
            self._logger.log(level, text, *args, exc_info=exc_info, stacklevel=3)
        except KeyboardInterrupt:
            raise  # it may be Ctrl-C
        except BaseException:  # also SystemExit; and there is nowhere left to say it
            pass
