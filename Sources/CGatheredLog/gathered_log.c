// SPDX-License-Identifier: Apache-2.0
// What SQLite writes to the log waits in memory, and is written in one piece when the log is synced, when so much
// waits that it is a piece of its own, and before whatever else needs it in the file. So a commit of up to 128 KiB is
// one write, but for the header of a log that begins anew.
//
// Why no commit is lost by it: with synchronous = FULL SQLite syncs the log before it says anywhere, in the
// wal-index or to its caller, that a commit is in it (walFrames in wal.c). The sync writes what waits first. So what
// only waits is no part of a commit that somebody knows of, and neither another connection nor the recovery after a
// crash reads it. What this connection itself wrote and reads again, as a transaction does that is larger than the
// cache, is in the file by then.
//
// Why no error is lost: what cannot be written is dropped, and whoever had it written gets the error: the sync, or
// the write, read or other call that comes before it. After each of them SQLite undoes the transaction as a whole, as
// after an error of the write itself, and writes the log again from where the last commit ended. Nothing of a commit
// that has failed, and of a transaction that was undone, is written later: a recovery might take it for one that had
// not, and another program may have put a commit of its own in its place.
//
// Whoever cuts the log off while it is open takes commits out of it. A recovery stops where they were, and what is written
// behind them would be lost with them: SQLite does not look, and leaves a hole. Each write begins within the file or right at
// its end, so one that would not is refused, and the log counts as cut from then on. Where nothing is written, the wal-index
// says how many frames there have to be.

#include "gathered_log.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// So many bytes wait at most.
enum { limit = 128 * 1024 };

/// A log and what waits for it.
struct log {
    /// The file's own methods with ours in their place. The first: a file's methods are how we find all of this.
    sqlite3_io_methods methods;
    const sqlite3_io_methods *own;
    /// Where in the file the bytes that wait belong, and how many there are.
    sqlite3_int64 start;
    sqlite3_int64 count;
    int is_cut;
    unsigned char bytes[limit];
};

static struct log *log_of(sqlite3_file *file) { return (struct log *)file->pMethods; }

/// Writes into the file, or at its end.
static int write_within(sqlite3_file *file, const void *data, int count, sqlite3_int64 offset) {
    struct log *log = log_of(file);
    sqlite3_int64 size;
    int code = log->own->xFileSize(file, &size);
    if (code != SQLITE_OK) return code;
    if (offset > size) log->is_cut = 1;
    if (log->is_cut) return SQLITE_IOERR_WRITE;
    errno = 0;
    code = log->own->xWrite(file, data, count, offset);
    // A file that is as large as this process may make one. SQLite 3.40 forgets the errno of a commit that has failed.
    return code == SQLITE_IOERR_WRITE && errno == EFBIG ? SQLITE_FULL : code;
}

/// Writes what waits; if that fails, nothing waits any more.
static int write_waiting(sqlite3_file *file) {
    struct log *log = log_of(file);
    if (log->count == 0) return SQLITE_OK;
    int count = (int)log->count;
    log->count = 0;
    return write_within(file, log->bytes, count, log->start);
}

static int log_write(sqlite3_file *file, const void *data, int count, sqlite3_int64 offset) {
    struct log *log = log_of(file);
    // What is written follows what waits, or lies in it: a page of a transaction that has changed again.
    int has_place = offset >= log->start && offset <= log->start + log->count
        && offset + count <= log->start + limit;
    if (log->count > 0 && !has_place) {
        int code = write_waiting(file);
        if (code != SQLITE_OK) return code;
    }
    if (count > limit) return write_within(file, data, count, offset);
    if (log->count == 0) log->start = offset;
    sqlite3_int64 end = offset + count - log->start;
    memcpy(log->bytes + (offset - log->start), data, (size_t)count);
    if (log->count < end) log->count = end;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *data, int count, sqlite3_int64 offset) {
    // After a full disk SQLite may undo a statement alone; after any other error of a file the transaction.
    if (write_waiting(file) != SQLITE_OK) return SQLITE_IOERR_WRITE;
    return log_of(file)->own->xRead(file, data, count, offset);
}

static int log_sync(sqlite3_file *file, int flags) {
    int code = write_waiting(file);
    return code == SQLITE_OK ? log_of(file)->own->xSync(file, flags) : code;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int code = write_waiting(file);
    return code == SQLITE_OK ? log_of(file)->own->xTruncate(file, size) : code;
}

static int log_file_size(sqlite3_file *file, sqlite3_int64 *size) {
    int code = write_waiting(file);
    return code == SQLITE_OK ? log_of(file)->own->xFileSize(file, size) : code;
}

static int log_close(sqlite3_file *file) {
    // What waits is no part of a commit.
    struct log *log = log_of(file);
    file->pMethods = log->own;
    free(log);
    return file->pMethods->xClose(file);
}

static sqlite3_file *log_file(sqlite3 *database) {
    sqlite3_file *file = NULL;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    return file && file->pMethods ? file : NULL;
}

/// The transaction is undone, and with it what waits. SQLite calls no method of the file for that.
static void drop_waiting(void *database) {
    // Looked up each time: another journal mode closes the log.
    sqlite3_file *file = log_file(database);
    if (file && file->pMethods->xWrite == log_write) log_of(file)->count = 0;
}

int gather_log(sqlite3 *database) {
    sqlite3_file *file = log_file(database);
    if (!file) return SQLITE_OK;
    // Without it SQLite fills the log up to a whole sector, syncs in the middle of that, and counts what is behind.
    if (!(file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE)) return SQLITE_OK;
    struct log *log = malloc(sizeof *log);
    if (!log) return SQLITE_NOMEM;
    log->own = file->pMethods;
    log->methods = *file->pMethods;
    log->start = log->count = 0;
    log->is_cut = 0;
    log->methods.xWrite = log_write;
    log->methods.xRead = log_read;
    log->methods.xSync = log_sync;
    log->methods.xTruncate = log_truncate;
    log->methods.xFileSize = log_file_size;
    log->methods.xClose = log_close;
    file->pMethods = &log->methods;
    sqlite3_rollback_hook(database, drop_waiting, database);
    return SQLITE_OK;
}

/// The beginning of the wal-index: https://www.sqlite.org/walformat.html#the_wal_index_file_format.
struct index_head {
    struct {
        uint32_t version, unused, changes;
        uint8_t is_initialised, is_big_endian;
        /// 1 for 65536.
        uint16_t page_size;
        /// Those of whole commits.
        uint32_t frames;
        uint32_t others[7];
    } header, copy;
    /// How many frames are in the database already.
    uint32_t backfilled;
};

_Static_assert(offsetof(struct index_head, backfilled) == 96, "as in SQLite's file");

/// Whether the file is shorter than the frames that are not in the database yet.
static int is_short(sqlite3 *database, sqlite3_file *file) {
    // What SQLite maps at once.
    enum { region = 32768 };
    sqlite3_file *own = NULL;
    void volatile *map = NULL;
    sqlite3_int64 size;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &own);
    if (!own || own->pMethods->xShmMap(own, 0, region, 0, &map) != SQLITE_OK || !map) return 0;
    struct index_head before, after;
    memcpy(&before, (const void *)map, sizeof before);
    own->pMethods->xShmBarrier(own);
    if (log_of(file)->own->xFileSize(file, &size) != SQLITE_OK) return 0;
    own->pMethods->xShmBarrier(own);
    memcpy(&after, (const void *)map, sizeof after);
    // Meanwhile another program may have brought the log into the database and truncated it, which changes this first.
    if (memcmp(&before, &after, sizeof before) != 0) return 0;
    if (!before.header.is_initialised || before.backfilled >= before.header.frames) return 0;
    sqlite3_int64 page_size = before.header.page_size == 1 ? 65536 : before.header.page_size;
    // The header of the log, and one before each page.
    return size < 32 + before.header.frames * (page_size + 24);
}

int is_log_cut(sqlite3 *database, int looks) {
    sqlite3_file *file = log_file(database);
    if (!file || file->pMethods->xWrite != log_write) return 0;
    if (looks && !log_of(file)->is_cut) log_of(file)->is_cut = is_short(database, file);
    return log_of(file)->is_cut;
}

/// The methods of the file itself: through ours, a read would write what waits.
static const sqlite3_io_methods *own_methods(sqlite3_file *file) {
    return file->pMethods->xWrite == log_write ? log_of(file)->own : file->pMethods;
}

static void forget_errno_of(sqlite3 *database, int which) {
    sqlite3_file *file = NULL;
    sqlite3_file_control(database, "main", which, &file);
    if (!file || !file->pMethods) return;
    const sqlite3_io_methods *own = own_methods(file);
    // A journal in memory, as that of a database in memory, has no such call, and no errno.
    if (!own->xFileControl) return;
    int number = 0;
    own->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number);
    if (number == 0) return;
    // SQLite has no call for it, and sets it to 0 as a read meets the file's end: https://www.sqlite.org/src/file/src/os_unix.c
    sqlite3_int64 size;
    char byte;
    if (own->xFileSize(file, &size) == SQLITE_OK) own->xRead(file, &byte, 1, size);
}

void forget_errno(sqlite3 *database) {
    forget_errno_of(database, SQLITE_FCNTL_FILE_POINTER);
    forget_errno_of(database, SQLITE_FCNTL_JOURNAL_POINTER);
}
