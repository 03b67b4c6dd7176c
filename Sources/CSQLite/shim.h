// SPDX-License-Identifier: Apache-2.0
// SQLite's own header; Swift cannot call variadic functions and cast macros, so those are wrapped.

#pragma once

// Which rows a transaction has changed: https://www.sqlite.org/sessionintro.html.
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

// An SQLite may be built without them; only a daemon that shares its jobs with other hosts needs them.
#pragma weak sqlite3session_create
#pragma weak sqlite3session_attach
#pragma weak sqlite3session_changeset
#pragma weak sqlite3session_delete
#pragma weak sqlite3changeset_start
#pragma weak sqlite3changeset_next
#pragma weak sqlite3changeset_op
#pragma weak sqlite3changeset_pk
#pragma weak sqlite3changeset_old
#pragma weak sqlite3changeset_new
#pragma weak sqlite3changeset_finalize

/// Whether this SQLite can tell which rows a transaction has changed.
static inline int csqlite_has_sessions(void) { return sqlite3session_create != 0; }

/// Has triggers fire, and rows that others refer to keep those from being left behind; or not, while rows are put in as
/// they are elsewhere.
static inline void csqlite_keep_rules(sqlite3 *database, int rules) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, rules, (int *)0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_FKEY, rules, (int *)0);
}

/// SQLITE_TRANSIENT: SQLite makes its own copy of a bound value before it returns.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

/// Has the end of the last connection leave the write-ahead log as it is, and where it is.
static inline int csqlite_keep_log_on_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/// Has SQLite keep no account of its memory, which takes a lock at each allocation; nothing here asks for it.
/// To be called before its first use: later it is refused, and SQLite keeps the account.
static inline int csqlite_keep_no_account(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
