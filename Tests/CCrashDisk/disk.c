// SPDX-License-Identifier: Apache-2.0

#include "disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: - Bytes

static void bytes_resize(struct bytes *bytes, int64_t size) {
    if (size > bytes->capacity) {
        int64_t capacity = size * 2;
        bytes->data = realloc(bytes->data, (size_t)capacity);
        bytes->capacity = capacity;
    }
    if (size > bytes->size) memset(bytes->data + bytes->size, 0, (size_t)(size - bytes->size));
    bytes->size = size;
}

void bytes_write(struct bytes *bytes, const void *data, int64_t offset, int64_t count) {
    if (count <= 0) return;
    if (offset + count > bytes->size) bytes_resize(bytes, offset + count);
    memcpy(bytes->data + offset, data, (size_t)count);
}

static void bytes_copy(struct bytes *bytes, const struct bytes *from) {
    bytes->size = 0;
    bytes_resize(bytes, from->size);
    if (from->size > 0) memcpy(bytes->data, from->data, (size_t)from->size);
}

void bytes_free(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

// MARK: - Files

struct file *disk_find(const crash_disk *disk, const char *path) {
    for (struct file *file = disk->files; file; file = file->next) {
        if (strcmp(file->path, path) == 0) return file;
    }
    return NULL;
}

static void forget_changes(struct file *file) {
    for (struct change *change = file->changes; change;) {
        struct change *next = change->next;
        free(change);
        change = next;
    }
    file->changes = NULL;
    file->last_change = &file->changes;
}

struct file *disk_make_file(crash_disk *disk, const char *path) {
    struct file *file = disk_find(disk, path);
    if (!file) {
        file = calloc(1, sizeof *file);
        file->path = strdup(path);
        file->number = disk->file_count++;
        file->last_change = &file->changes;
        file->next = disk->files;
        disk->files = file;
    }
    if (!file->exists) {
        file->exists = 1;
        forget_changes(file);
        if (!file->exists_durably) bytes_resize(&file->durable, 0);
        file->is_remade = file->exists_durably;
        file_truncate(file, 0);
    }
    return file;
}

static struct change *add_change(struct file *file, int64_t offset, int64_t count) {
    struct change *change = malloc(sizeof *change + (size_t)(count > 0 ? count : 0));
    *change = (struct change){.offset = offset, .count = count};
    *file->last_change = change;
    file->last_change = &change->next;
    return change;
}

void file_write(struct file *file, const void *data, int64_t offset, int64_t count) {
    if (count <= 0) return;
    bytes_write(&file->now, data, offset, count);
    memcpy(add_change(file, offset, count)->data, data, (size_t)count);
}

void file_truncate(struct file *file, int64_t size) {
    bytes_resize(&file->now, size);
    add_change(file, size, -1);
}

static void apply(const struct change *change, struct bytes *bytes, int64_t count) {
    if (change->count < 0) {
        bytes_resize(bytes, change->offset);
    } else {
        bytes_write(bytes, change->data, change->offset, count);
    }
}

void file_sync(struct file *file) {
    for (struct change *change = file->changes; change; change = change->next) {
        apply(change, &file->durable, change->count);
    }
    forget_changes(file);
    file->is_remade = 0;
}

void file_sync_badly(crash_disk *disk, struct file *file) {
    for (struct change *change = file->changes; change; change = change->next) {
        if (change->count < 0 || disk_roll(disk, 2)) apply(change, &file->durable, change->count);
    }
    forget_changes(file);
    file->is_remade = 0;
}

void disk_sync_folder(crash_disk *disk) {
    for (struct file *file = disk->files; file; file = file->next) {
        file->exists_durably = file->exists;
    }
}

// MARK: - The disk

crash_disk *crash_disk_make(const char *name, uint64_t seed) {
    crash_disk *disk = calloc(1, sizeof *disk);
    disk->dice = seed;
    disk->trace = 14695981039346656037u;
    vfs_fill(&disk->vfs, disk, strdup(name));
    sqlite3_vfs_register(&disk->vfs, 0);
    return disk;
}

void crash_disk_free(crash_disk *disk) {
    sqlite3_vfs_unregister(&disk->vfs);
    free((char *)disk->vfs.zName);
    while (disk->files) {
        struct file *file = disk->files;
        disk->files = file->next;
        forget_changes(file);
        bytes_free(&file->now);
        bytes_free(&file->durable);
        free(file->path);
        free(file);
    }
    free(disk);
}

int64_t crash_disk_size(const crash_disk *disk, const char *path) {
    const struct file *file = disk_find(disk, path);
    return file && file->exists ? file->now.size : -1;
}

int crash_disk_create(crash_disk *disk, const char *path) {
    struct file *file = disk_find(disk, path);
    static struct file unknown = {.path = "new file"};
    int error;
    if (disk_begin(disk, "make", file ? file : &unknown, 0, 0, &error) != DO_IT) return error;
    file_truncate(disk_make_file(disk, path), 0);
    return SQLITE_OK;
}

int crash_disk_rename(crash_disk *disk, const char *path, const char *name) {
    struct file *file = disk_find(disk, path);
    if (!file || !file->exists) return SQLITE_CANTOPEN;
    int error;
    enum verdict verdict = disk_begin(disk, "rename", file, 0, 0, &error);
    // At a crash, or where the folder cannot be synced, it may be done for now.
    if (verdict == FAIL || (verdict == DO_A_PART && disk_roll(disk, 2))) return error;
    struct file *named = disk_make_file(disk, name);
    bytes_copy(&named->now, &file->now);
    bytes_copy(&named->durable, &file->durable);
    forget_changes(named);
    *named->last_change = file->changes;
    if (file->changes) named->last_change = file->last_change;
    file->changes = NULL;
    forget_changes(file);
    file->exists = 0;
    if (verdict == DO_IT) disk_sync_folder(disk);
    return error;
}

int64_t crash_disk_operations(const crash_disk *disk) { return disk->operations; }
uint64_t crash_disk_trace(const crash_disk *disk) { return disk->trace; }

const char *crash_disk_story(crash_disk *disk) {
    disk->story[0] = 0;
    int64_t first = disk->operations > 32 ? disk->operations - 31 : 1;
    for (int64_t number = first; number <= disk->operations; number++) {
        strcat(disk->story, disk->lines[number % 32]);
    }
    return disk->story;
}

int64_t disk_roll(crash_disk *disk, int64_t end) {
    // SplitMix64, Steele, Lea and Flood 2014.
    disk->dice += 0x9e3779b97f4a7c15u;
    uint64_t z = disk->dice;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return end > 0 ? (int64_t)(z % (uint64_t)end) : 0;
}

static void add_to_trace(crash_disk *disk, uint64_t value) {
    disk->trace = (disk->trace ^ value) * 1099511628211u;
}

/// What the fault in force makes of an operation; SQLITE_OK for nothing.
static int trouble(const crash_disk *disk, char what, const struct file *file, int64_t end) {
    switch (disk->fault) {
    case CRASH_DISK_FULL:
        if (what == 'w' && end > file->now.size) return SQLITE_FULL;
        return what == 'm' ? SQLITE_CANTOPEN : SQLITE_OK;
    case CRASH_DISK_NO_WRITE:
        if (what == 'w') return SQLITE_IOERR_WRITE;
        if (what == 't') return SQLITE_IOERR_TRUNCATE;
        if (what == 'd') return SQLITE_IOERR_DELETE;
        return what == 'm' || what == 'r' ? SQLITE_CANTOPEN : SQLITE_OK;
    case CRASH_DISK_NO_SYNC: return what == 's' || what == 'r' ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    default: return SQLITE_OK;
    }
}

enum verdict disk_begin(
    crash_disk *disk, const char *what, struct file *file, int64_t offset, int64_t count, int *error
) {
    *error = SQLITE_IOERR;
    if (disk->has_crashed) return FAIL;
    disk->operations++;
    add_to_trace(disk, (uint64_t)what[0]);
    add_to_trace(disk, (uint64_t)file->number);
    add_to_trace(disk, (uint64_t)offset);
    add_to_trace(disk, (uint64_t)count);
    const char *name = strrchr(file->path, '/');
    snprintf(
        disk->lines[disk->operations % 32], sizeof disk->lines[0], "    %lld %s %s %lld +%lld\n",
        (long long)disk->operations, what, name ? name + 1 : file->path, (long long)offset,
        (long long)count);
    if (disk->operations == disk->crash_at) {
        disk->has_crashed = 1;
        return DO_A_PART;
    }
    if (disk->next_fault != CRASH_DISK_SOUND && disk->operations >= disk->fail_at) {
        disk->fault = disk->next_fault;
        disk->next_fault = CRASH_DISK_SOUND;
    }
    *error = trouble(disk, what[0], file, offset + count);
    return *error == SQLITE_OK ? DO_IT : DO_A_PART;
}

// MARK: - What goes wrong

void crash_disk_crash_at(crash_disk *disk, int64_t operation) { disk->crash_at = operation; }

void crash_disk_fail_at(crash_disk *disk, int64_t operation, enum crash_disk_fault fault) {
    disk->fail_at = operation;
    disk->next_fault = fault;
}

enum crash_disk_fault crash_disk_set_fault(crash_disk *disk, enum crash_disk_fault fault) {
    enum crash_disk_fault before = disk->fault;
    disk->fault = fault;
    return before;
}

enum crash_disk_fault crash_disk_current_fault(const crash_disk *disk) { return disk->fault; }

void crash_disk_seed_sqlite(uint32_t seed) {
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, (int)(seed | 1), (sqlite3 *)NULL);
    sqlite3_randomness(0, NULL);
}

void crash_disk_crash(crash_disk *disk) { disk->has_crashed = 1; }
int crash_disk_has_crashed(const crash_disk *disk) { return disk->has_crashed; }
int crash_disk_open_files(const crash_disk *disk) { return disk->open_files; }

void crash_disk_restart(crash_disk *disk) {
    disk->has_crashed = 0;
    disk->crash_at = 0;
}

/// What of a change is on disk that was not synced: all of it, nothing, or the sectors of a part.
static void apply_by_chance(crash_disk *disk, const struct change *change, struct bytes *bytes) {
    switch (disk_roll(disk, 4)) {
    case 0: return;
    case 1:
        if (change->count <= 0) return;
        // Sectors are written in any order: here a stretch of them.
        int64_t sectors = (change->count + 511) / 512;
        int64_t first = disk_roll(disk, sectors) * 512;
        int64_t end = first + (1 + disk_roll(disk, sectors)) * 512;
        if (end > change->count) end = change->count;
        // The file may have its new size before it has the bytes.
        if (change->offset + change->count > bytes->size && disk_roll(disk, 2)) {
            bytes_resize(bytes, change->offset + change->count);
        }
        bytes_write(bytes, change->data + first, change->offset + first, end - first);
        return;
    default: apply(change, bytes, change->count);
    }
}

void crash_disk_lose_power(crash_disk *disk) {
    for (struct file *file = disk->files; file; file = file->next) {
        if (file->exists != file->exists_durably) file->exists = (int)disk_roll(disk, 2);
        file->exists_durably = file->exists;
        // Now and then nothing but what was synced is there, or all of it.
        int64_t luck = disk_roll(disk, 8);
        if (file->is_remade && disk_roll(disk, 2)) luck = 0;
        if (file->is_remade && luck != 0) bytes_resize(&file->durable, 0);
        file->is_remade = 0;
        for (struct change *change = file->changes; change; change = change->next) {
            if (luck == 0) continue;
            if (luck == 1) {
                apply(change, &file->durable, change->count);
            } else {
                apply_by_chance(disk, change, &file->durable);
            }
        }
        forget_changes(file);
        if (!file->exists) bytes_resize(&file->durable, 0);
        bytes_copy(&file->now, &file->durable);
    }
    disk->fault = CRASH_DISK_SOUND;
    disk->next_fault = CRASH_DISK_SOUND;
    crash_disk_restart(disk);
}
