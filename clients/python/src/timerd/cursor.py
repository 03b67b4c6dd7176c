# SPDX-License-Identifier: Apache-2.0
"""Where a watcher is: the number of the last event that was dealt with, kept over restarts."""
from __future__ import annotations

import os
from typing import Callable, Optional


class Cursor:
    """With functions of the user's own: `load` gives the number that was kept, or None; `save` keeps one.

    Who keeps it in a database saves it in the transaction in which the event is dealt with: then it is dealt with exactly once.
    """

    def __init__(self, load: Callable[[], Optional[int]], save: Callable[[int], None]) -> None:
        self.load = load
        self.save = save


class FileCursor(Cursor):
    """A file, written whole or not at all, on disk before `save` returns."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self.path = os.fspath(path)
        super().__init__(self._load, self._save)

    def _load(self) -> Optional[int]:
        try:
            with open(self.path, encoding="ascii") as file:
                text = file.read().strip()
        except FileNotFoundError:
            return None
        if not (text.isascii() and text.isdigit()):
            raise ValueError("the cursor '%s' has no number but %r" % (self.path, text[:40]))
        return int(text)

    def _save(self, seq: int) -> None:
        new = self.path + ".new"
        with open(new, "w", encoding="ascii") as file:
            file.write("%d\n" % seq)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
