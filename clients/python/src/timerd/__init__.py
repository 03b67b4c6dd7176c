# SPDX-License-Identifier: Apache-2.0
"""A client of timerd: jobs in time, queues and workers."""
from .aio_client import AsyncClient
from .aio_watcher import AsyncWatcher
from .aio_worker import AsyncWorker
from .app import App
from .client import Client
from .cursor import Cursor, FileCursor
from .definition import job
from .errors import (
    BadSchedule,
    CannotConnect,
    Conflict,
    ConnectionFailed,
    ConnectionLost,
    InternalError,
    InvalidParams,
    InvalidRequest,
    LeaseLost,
    LimitReached,
    NameTaken,
    NotFound,
    NotPermitted,
    ParseError,
    ProtocolError,
    Refused,
    StorageFailed,
    Stopping,
    TimedOut,
    TimerdError,
    UnknownMethod,
)
from .outcome import Retry
from .paths import default_socket
from .progress import Lost
from .task import Task
from .values import read_date
from .watcher import Watcher
from .worker import Worker

__version__ = "0.1.0"

__all__ = [
    "App",
    "AsyncClient",
    "AsyncWatcher",
    "AsyncWorker",
    "BadSchedule",
    "CannotConnect",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "ConnectionLost",
    "Cursor",
    "FileCursor",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "LeaseLost",
    "LimitReached",
    "Lost",
    "NameTaken",
    "NotFound",
    "NotPermitted",
    "ParseError",
    "ProtocolError",
    "Refused",
    "Retry",
    "Stopping",
    "StorageFailed",
    "Task",
    "TimedOut",
    "TimerdError",
    "UnknownMethod",
    "Watcher",
    "Worker",
    "default_socket",
    "job",
    "read_date",
]
