// SPDX-License-Identifier: Apache-2.0
// SQLite's own header; Swift cannot call variadic functions and cast macros, so those are wrapped.

#pragma once

#include <sqlite3.h>

/// SQLITE_TRANSIENT: SQLite makes its own copy of a bound value before it returns.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }
