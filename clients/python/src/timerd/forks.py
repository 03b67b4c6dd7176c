# SPDX-License-Identifier: Apache-2.0
"""A child of fork(2) has connections of its own: those of its parent end with the parent, and are not held open by children that outlive it.

So it is for the processes of a web server that forks, for multiprocessing, and for a handler that forks: whose tasks are tied to the connection.
"""
from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    def _forked(self) -> None:
        """Called in the child, ahead of everything else there. Another thread of the parent may have had any lock."""


_known: "weakref.WeakSet[Forked]" = weakref.WeakSet()


def mind_forks(one: Forked) -> None:
    _known.add(one)


def _in_child() -> None:
    for one in list(_known):
        one._forked()


os.register_at_fork(after_in_child=_in_child)
