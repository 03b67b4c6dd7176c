// SPDX-License-Identifier: Apache-2.0
// What the machine gives without timerd: SQLite's own header, and what the Glibc module leaves out.

#pragma once

#include <sqlite3.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>

/// SQLITE_TRANSIENT: SQLite makes its own copy of a bound value before it returns.
static inline sqlite3_destructor_type climits_transient(void) { return SQLITE_TRANSIENT; }
