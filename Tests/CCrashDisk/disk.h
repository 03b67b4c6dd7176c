// SPDX-License-Identifier: Apache-2.0
// The files of a disk, as the VFS sees them.

#ifndef CRASH_DISK_INTERNAL_H
#define CRASH_DISK_INTERNAL_H

#include <sqlite3.h>
#include <stddef.h>

#include "CCrashDisk.h"

struct bytes {
    unsigned char *data;
    int64_t size;
    int64_t capacity;
};

/// A write or a truncation since the last sync.
struct change {
    struct change *next;
    int64_t offset;
    /// Negative for a truncation to `offset`.
    int64_t count;
    unsigned char data[];
};

struct handle;

struct file {
    struct file *next;
    char *path;
    int number;
    /// Whether it is in its folder now, and after a loss of power.
    int exists;
    int exists_durably;
    struct bytes now;
    struct bytes durable;
    /// Whether the changes are to a file made anew, in place of one that was deleted: of which a loss
    /// of power may bring back the old one, `durable`, as long as the folder is not synced.
    int is_remade;
    /// Oldest first.
    struct change *changes;
    struct change **last_change;
    /// Who has it open, and the memory that they share.
    struct handle *handles;
    unsigned char **regions;
    int region_count;
};

struct crash_disk {
    sqlite3_vfs vfs;
    struct file *files;
    int file_count;
    int open_files;
    int64_t operations;
    uint64_t trace;
    uint64_t dice;
    int64_t crash_at;
    int64_t fail_at;
    enum crash_disk_fault next_fault;
    enum crash_disk_fault fault;
    int has_crashed;
    char lines[32][96];
    char story[32 * 96 + 1];
};

/// What becomes of an operation.
enum verdict { DO_IT, DO_A_PART, FAIL };

/// Counts an operation on `file` and says what becomes of it; `*error` where it is not `DO_IT`.
enum verdict disk_begin(
    crash_disk *disk, const char *what, struct file *file, int64_t offset, int64_t count, int *error);
/// A number below `end`, by chance.
int64_t disk_roll(crash_disk *disk, int64_t end);

struct file *disk_find(const crash_disk *disk, const char *path);
/// The file of that name, made where there is none.
struct file *disk_make_file(crash_disk *disk, const char *path);
void file_write(struct file *file, const void *data, int64_t offset, int64_t count);
void file_truncate(struct file *file, int64_t size);
void file_sync(struct file *file);
/// A sync that failed: each change is on disk, or is lost with the next loss of power: none is tried again.
void file_sync_badly(crash_disk *disk, struct file *file);
/// Makes the folder what it is now, after a loss of power too.
void disk_sync_folder(crash_disk *disk);

void bytes_free(struct bytes *bytes);
void bytes_write(struct bytes *bytes, const void *data, int64_t offset, int64_t count);

/// Gives `vfs` the functions that work on `disk`.
void vfs_fill(sqlite3_vfs *vfs, crash_disk *disk, const char *name);

#endif
