// SPDX-License-Identifier: Apache-2.0
// SQLite's own header; Swift cannot call variadic functions and cast macros, so those are wrapped.

#pragma once

#include <sqlite3.h>

/// SQLITE_TRANSIENT: SQLite makes its own copy of a bound value before it returns.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

/// Has the end of the last connection leave the write-ahead log as it is, and where it is.
static inline int csqlite_keep_log_on_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/// Has SQLite keep no account of its memory, which takes a lock at each allocation; nothing here asks for it.
/// To be called before its first use: later it is refused, and SQLite keeps the account.
static inline int csqlite_keep_no_account(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
