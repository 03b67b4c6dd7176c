// SPDX-License-Identifier: Apache-2.0
// A disk in memory for SQLite that knows what was written and what was synced, and fails as it is told to:
// a VFS of its own, for tests alone. One thread uses a disk at a time.

#ifndef CCRASHDISK_H
#define CCRASHDISK_H

#include <stdint.h>

typedef struct crash_disk crash_disk;

/// What goes wrong from some operation on, until it is set right again.
enum crash_disk_fault {
    CRASH_DISK_SOUND = 0,
    /// No file may grow: a part of what is written is, and the rest is SQLITE_FULL.
    CRASH_DISK_FULL = 1,
    /// SQLITE_IOERR_WRITE, and nothing or a part of it is written.
    CRASH_DISK_NO_WRITE = 2,
    /// SQLITE_IOERR_FSYNC; what was to be synced may be lost for good, as fsync(2) says.
    CRASH_DISK_NO_SYNC = 3,
    /// SQLITE_IOERR_READ.
    CRASH_DISK_NO_READ = 4,
};

/// A disk without files, and a VFS of that name on it. `seed` decides what it leaves to chance.
crash_disk *crash_disk_make(const char *name, uint64_t seed);
void crash_disk_free(crash_disk *disk);

/// The file's size in bytes; -1 where there is none.
int64_t crash_disk_size(const crash_disk *disk, const char *path);
/// Makes a file, empty, in place of one that is there; one of SQLite's codes.
int crash_disk_create(crash_disk *disk, const char *path);
/// Gives a file a name that nothing has, and syncs its folder; one of SQLite's codes.
int crash_disk_rename(crash_disk *disk, const char *path, const char *name);

/// How many operations have changed something: writes, truncations, syncs, files made, named and deleted.
int64_t crash_disk_operations(const crash_disk *disk);
/// A sum over all operations: what was done, where and how much.
uint64_t crash_disk_trace(const crash_disk *disk);
/// The operations before the last, newest last, a line each, for people.
const char *crash_disk_story(crash_disk *disk);

/// The operation of this number is the last: it is done in part, or not at all. 0 for none.
void crash_disk_crash_at(crash_disk *disk, int64_t operation);
/// From this operation on that goes wrong.
void crash_disk_fail_at(crash_disk *disk, int64_t operation, enum crash_disk_fault fault);
/// What goes wrong from now on; returns what did until now.
enum crash_disk_fault crash_disk_set_fault(crash_disk *disk, enum crash_disk_fault fault);
enum crash_disk_fault crash_disk_current_fault(const crash_disk *disk);
/// Seeds SQLite's own dice, which the whole process shares.
void crash_disk_seed_sqlite(uint32_t seed);

/// From now on every operation fails.
void crash_disk_crash(crash_disk *disk);
int crash_disk_has_crashed(const crash_disk *disk);
/// How many files are open. All have to be closed before the disk is used again after a crash.
int crash_disk_open_files(const crash_disk *disk);
/// After a crash of the process: all that was written is there.
void crash_disk_restart(crash_disk *disk);
/// After a loss of power: of what was not synced each write is there, or not, or a part of it.
void crash_disk_lose_power(crash_disk *disk);

/// Connects to a socket of the file system as another user, which needs root; -1 where it cannot.
int test_connect_as(const char *path, uint32_t uid);

#endif
