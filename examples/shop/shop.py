#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small shop: a receipt for each order at once, and a reminder after a while, unless it is paid by then.

    shop.py place ORDER MAIL        order again what is ordered already: it is one order
    shop.py pay ORDER
    shop.py recover                 after a crash: asks for what orders were to ask for
    shop.py work                    sends mails until SIGTERM

$SHOP_FOLDER has the shop's database (shop.db) and, in place of a mail server, the ledger of what was sent (ledger).
$SHOP_REMIND is how long after the order the reminder goes (10min).
"""
import contextlib
import fcntl
import json
import os
import sqlite3
import sys

try:
    import timerd
except ImportError:  # not installed: the client of this tree
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../clients/python/src"))
    import timerd

FOLDER = os.environ.get("SHOP_FOLDER", ".")
REMIND = os.environ.get("SHOP_REMIND", "10min")
LEDGER = os.path.join(FOLDER, "ledger")
SCHEMA = """
    CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, mail TEXT NOT NULL, paid INTEGER NOT NULL DEFAULT 0,
        asked INTEGER NOT NULL DEFAULT 0) STRICT;
    CREATE TABLE IF NOT EXISTS sent (fire INTEGER PRIMARY KEY) STRICT;
"""


@contextlib.contextmanager
def transaction():
    """One at a time, on disk once it is over, undone where it raises or the process dies."""
    database = sqlite3.connect(os.path.join(FOLDER, "shop.db"), timeout=60, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA.split(";"):
            database.execute(statement)
        yield database
        database.execute("COMMIT")
    finally:
        database.close()


# The shop


def place(client, order, mail):
    """First the order, then what it asks for, then that it has asked. A crash in between is made good by `recover`."""
    with transaction() as database:
        database.execute("INSERT INTO orders (number, mail) VALUES (?, ?) ON CONFLICT DO NOTHING", (order, mail))
    ask(client, order, mail)


def ask(client, order, mail):
    """May be said again: the keys make each mail one job."""
    common = {"queue": "mails", "retries": 20, "backoff": "100ms..10s", "tags": ["shop"]}
    client.add_all(
        [
            timerd.job(key="receipt-%d" % order, user_info={"kind": "receipt", "order": order, "to": mail}, **common),
            timerd.job(
                in_=REMIND,
                key="reminder-%d" % order,
                name="reminder-%d" % order,
                user_info={"kind": "reminder", "order": order, "to": mail},
                **common,
            ),
        ]
    )
    with transaction() as database:
        database.execute("UPDATE orders SET asked = 1 WHERE number = ?", (order,))


def recover(client):
    with transaction() as database:
        orders = database.execute("SELECT number, mail FROM orders WHERE asked = 0 ORDER BY number").fetchall()
    for order, mail in orders:
        ask(client, order, mail)
    return len(orders)


def pay(client, order):
    """Paid is what the database says. That the reminder is cancelled saves work: one that is on its way looks there."""
    with transaction() as database:
        if database.execute("UPDATE orders SET paid = 1 WHERE number = ?", (order,)).rowcount == 0:
            raise LookupError("there is no order %d" % order)
    try:
        client.cancel(name="reminder-%d" % order)
    except timerd.TimerdError:
        pass  # it was sent, or not asked for yet; or it cannot be cancelled now: then it is sent to nobody, for the order is paid


# The worker


def send(task):
    """Once for each fire, whatever is killed: see README.md."""
    mail = task.payload
    with transaction() as database:
        if database.execute("SELECT 1 FROM sent WHERE fire = ?", (task.fire,)).fetchone():
            return
        paid = database.execute("SELECT paid FROM orders WHERE number = ?", (mail["order"],)).fetchone()[0]
        if not (mail["kind"] == "reminder" and paid):
            # Only who comes second need ask the mail server whether the first got that far.
            if task.attempt == 1 or not in_ledger(task.fire):
                append({"fire": task.fire, **mail})
        database.execute("INSERT INTO sent (fire) VALUES (?)", (task.fire,))


def in_ledger(fire):
    """What a mail server answers of a Message-ID."""
    return any(line["fire"] == fire for line in ledger())


def append(entry):
    """What a mail server does: once this has returned it has the mail."""
    ledger_file = os.open(LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(ledger_file, fcntl.LOCK_EX)
        line = json.dumps(entry).encode() + b"\n"
        if os.write(ledger_file, line) != len(line):
            raise OSError("the ledger took half a line")
        os.fsync(ledger_file)
    finally:
        os.close(ledger_file)


def ledger():
    try:
        with open(LEDGER, "rb") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []


def main(arguments):
    client = timerd.Client(patience=30)
    if len(arguments) == 3 and arguments[0] == "place":
        place(client, int(arguments[1]), arguments[2])
    elif len(arguments) == 2 and arguments[0] == "pay":
        pay(client, int(arguments[1]))
    elif arguments == ["recover"]:
        print(recover(client))
    elif arguments == ["work"]:
        timerd.Worker("mails", send, concurrency=4, lease="5s").run()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
