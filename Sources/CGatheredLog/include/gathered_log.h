// SPDX-License-Identifier: Apache-2.0

#pragma once

// No header of SQLite's: a C struct that two modules define belongs, to Swift, now to the one and now to the
// other.
struct sqlite3;

/// Has a connection write its write-ahead log in one piece for each commit of up to 128 KiB.
///
/// SQLite alone makes two system calls for each page: the header of a frame, and the page.
///
/// For the connection that writes, with `journal_mode = WAL` and `synchronous = FULL`, after its first transaction.
/// Ends with the connection. See gathered_log.c for why it is safe.
///
/// Returns SQLITE_OK also where the log stays as it is; SQLITE_NOMEM without memory.
int gather_log(struct sqlite3 *database);

/// Whether the log is shorter than it was left, so that commits are missing that are nowhere else.
///
/// With looks = 0 only what a write has found: behind one that went well that is all.
int is_log_cut(struct sqlite3 *database, int looks);

/// Has the files of a connection forget with which errno a call on them failed last: SQLite keeps it over calls that go
/// well, and whoever asks behind a later failure would take it for the errno of that.
void forget_errno(struct sqlite3 *database);
