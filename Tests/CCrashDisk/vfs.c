// SPDX-License-Identifier: Apache-2.0
// SQLite's side of the disk: https://www.sqlite.org/c3ref/io_methods.html. Behaves as the VFS for Unix does
// where that shows: files are locked, a log that is made is synced with its folder, writes are whole sectors.

#include <stdlib.h>
#include <string.h>

#include "disk.h"

/// An open file.
struct handle {
    sqlite3_file base;
    crash_disk *disk;
    /// Nil for a temporary file, which no crash leaves anything of.
    struct file *file;
    struct bytes scratch;
    struct handle *next;
    int lock;
    /// Whether its first sync is to sync the folder as well: of each log that may have been made.
    int is_new;
    int delete_on_close;
    int is_read_only;
    unsigned shared;
    unsigned exclusive;
};

static struct handle *handle_of(sqlite3_file *base) { return (struct handle *)base; }

static int vfs_close(sqlite3_file *base) {
    struct handle *handle = handle_of(base);
    struct file *file = handle->file;
    if (!file) {
        bytes_free(&handle->scratch);
        return SQLITE_OK;
    }
    struct handle **link = &file->handles;
    while (*link != handle) link = &(*link)->next;
    *link = handle->next;
    handle->disk->open_files--;
    if (!file->handles) {
        for (int index = 0; index < file->region_count; index++) free(file->regions[index]);
        free(file->regions);
        file->regions = NULL;
        file->region_count = 0;
    }
    if (handle->delete_on_close && !handle->disk->has_crashed) file->exists = 0;
    return SQLITE_OK;
}

static int vfs_read(sqlite3_file *base, void *data, int count, sqlite3_int64 offset) {
    struct handle *handle = handle_of(base);
    if (handle->file && handle->disk->has_crashed) return SQLITE_IOERR_READ;
    if (handle->file && handle->disk->fault == CRASH_DISK_NO_READ) return SQLITE_IOERR_READ;
    const struct bytes *bytes = handle->file ? &handle->file->now : &handle->scratch;
    int64_t there = bytes->size - offset;
    if (there > count) there = count;
    if (there > 0) memcpy(data, bytes->data + offset, (size_t)there);
    if (there >= count) return SQLITE_OK;
    if (there < 0) there = 0;
    memset((char *)data + there, 0, (size_t)(count - there));
    return SQLITE_IOERR_SHORT_READ;
}

static int vfs_write(sqlite3_file *base, const void *data, int count, sqlite3_int64 offset) {
    struct handle *handle = handle_of(base);
    if (!handle->file) {
        bytes_write(&handle->scratch, data, offset, count);
        return SQLITE_OK;
    }
    if (handle->is_read_only) return SQLITE_IOERR_WRITE;
    int error;
    switch (disk_begin(handle->disk, "write", handle->file, offset, count, &error)) {
    case DO_IT: file_write(handle->file, data, offset, count); break;
    case DO_A_PART:
        file_write(handle->file, data, offset, disk_roll(handle->disk, count + 1));
        break;
    case FAIL: break;
    }
    return error;
}

static int vfs_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct handle *handle = handle_of(base);
    if (!handle->file) {
        handle->scratch.size = size < handle->scratch.size ? size : handle->scratch.size;
        return SQLITE_OK;
    }
    if (handle->is_read_only) return SQLITE_IOERR_TRUNCATE;
    int error;
    if (disk_begin(handle->disk, "truncate", handle->file, size, 0, &error) == DO_IT) {
        file_truncate(handle->file, size);
    }
    return error;
}

static int vfs_sync(sqlite3_file *base, int flags) {
    struct handle *handle = handle_of(base);
    (void)flags;
    if (!handle->file) return SQLITE_OK;
    int error;
    switch (disk_begin(handle->disk, "sync", handle->file, 0, 0, &error)) {
    case DO_IT:
        file_sync(handle->file);
        if (handle->is_new) disk_sync_folder(handle->disk);
        handle->is_new = 0;
        break;
    case DO_A_PART:
        if (!handle->disk->has_crashed && disk_roll(handle->disk, 2)) {
            file_sync_badly(handle->disk, handle->file);
        }
        break;
    case FAIL: break;
    }
    return error;
}

static int vfs_file_size(sqlite3_file *base, sqlite3_int64 *size) {
    struct handle *handle = handle_of(base);
    *size = handle->file ? handle->file->now.size : handle->scratch.size;
    return SQLITE_OK;
}

// MARK: - Locks

static int vfs_lock(sqlite3_file *base, int lock) {
    struct handle *handle = handle_of(base);
    if (!handle->file || handle->lock >= lock) return SQLITE_OK;
    // As fcntl(2): a lock for writing takes a descriptor that may write.
    if (handle->is_read_only && lock > SQLITE_LOCK_SHARED) return SQLITE_IOERR_LOCK;
    for (struct handle *other = handle->file->handles; other; other = other->next) {
        if (other == handle) continue;
        int limit = lock == SQLITE_LOCK_SHARED     ? SQLITE_LOCK_PENDING
                    : lock == SQLITE_LOCK_RESERVED ? SQLITE_LOCK_RESERVED
                                                   : SQLITE_LOCK_SHARED;
        if (other->lock < limit) continue;
        // Readers finish, and no new ones come.
        if (lock == SQLITE_LOCK_EXCLUSIVE) handle->lock = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
    }
    handle->lock = lock;
    return SQLITE_OK;
}

static int vfs_unlock(sqlite3_file *base, int lock) {
    struct handle *handle = handle_of(base);
    if (handle->lock > lock) handle->lock = lock;
    return SQLITE_OK;
}

static int vfs_check_reserved(sqlite3_file *base, int *is_reserved) {
    struct handle *handle = handle_of(base);
    *is_reserved = 0;
    for (struct handle *other = handle->file ? handle->file->handles : NULL; other; other = other->next) {
        if (other->lock >= SQLITE_LOCK_RESERVED) *is_reserved = 1;
    }
    return SQLITE_OK;
}

static int vfs_control(sqlite3_file *base, int what, void *argument) {
    (void)base, (void)what, (void)argument;
    return SQLITE_NOTFOUND;
}

static int vfs_sector_size(sqlite3_file *base) {
    (void)base;
    return 4096;
}

static int vfs_characteristics(sqlite3_file *base) {
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// MARK: - Shared memory

static int shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **memory) {
    struct file *file = handle_of(base)->file;
    *memory = NULL;
    if (region >= file->region_count) {
        if (!extend) return SQLITE_OK;
        file->regions = realloc(file->regions, (size_t)(region + 1) * sizeof *file->regions);
        while (file->region_count <= region) {
            file->regions[file->region_count++] = calloc(1, (size_t)size);
        }
    }
    *memory = file->regions[region];
    return SQLITE_OK;
}

static int shm_lock(sqlite3_file *base, int first, int count, int flags) {
    struct handle *handle = handle_of(base);
    unsigned mask = ((1u << count) - 1u) << first;
    if (flags & SQLITE_SHM_UNLOCK) {
        handle->shared &= ~mask;
        handle->exclusive &= ~mask;
        return SQLITE_OK;
    }
    for (struct handle *other = handle->file->handles; other; other = other->next) {
        if (other == handle) continue;
        unsigned taken = other->exclusive | (flags & SQLITE_SHM_EXCLUSIVE ? other->shared : 0);
        if (taken & mask) return SQLITE_BUSY;
    }
    if (flags & SQLITE_SHM_EXCLUSIVE) {
        handle->exclusive |= mask;
    } else {
        handle->shared |= mask;
    }
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *base) { (void)base; }

static int shm_unmap(sqlite3_file *base, int delete) {
    (void)delete;
    handle_of(base)->shared = handle_of(base)->exclusive = 0;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = vfs_close,
    .xRead = vfs_read,
    .xWrite = vfs_write,
    .xTruncate = vfs_truncate,
    .xSync = vfs_sync,
    .xFileSize = vfs_file_size,
    .xLock = vfs_lock,
    .xUnlock = vfs_unlock,
    .xCheckReservedLock = vfs_check_reserved,
    .xFileControl = vfs_control,
    .xSectorSize = vfs_sector_size,
    .xDeviceCharacteristics = vfs_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

// MARK: - The VFS

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out) {
    crash_disk *disk = vfs->pAppData;
    struct handle *handle = handle_of(base);
    *handle = (struct handle){.disk = disk};
    if (out) *out = flags;
    if (!path) {
        handle->base.pMethods = &methods;
        return SQLITE_OK;
    }
    if (disk->has_crashed) return SQLITE_CANTOPEN;
    struct file *file = disk_find(disk, path);
    if (!file || !file->exists) {
        if (!(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
        int error;
        static struct file unknown = {.path = "new file"};
        if (disk_begin(disk, "make", &unknown, 0, 0, &error) != DO_IT) return SQLITE_CANTOPEN;
        file = disk_make_file(disk, path);
    }
    int is_log = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    handle->is_new = is_log && (flags & SQLITE_OPEN_CREATE);
    handle->base.pMethods = &methods;
    handle->file = file;
    handle->is_read_only = (flags & SQLITE_OPEN_READONLY) != 0;
    handle->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    handle->next = file->handles;
    file->handles = handle;
    disk->open_files++;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_folder) {
    crash_disk *disk = vfs->pAppData;
    struct file *file = disk_find(disk, path);
    if (!file || !file->exists) return SQLITE_IOERR_DELETE_NOENT;
    int error;
    if (disk_begin(disk, "delete", file, 0, 0, &error) != DO_IT) return SQLITE_IOERR_DELETE;
    file->exists = 0;
    if (sync_folder) disk_sync_folder(disk);
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *answer) {
    crash_disk *disk = vfs->pAppData;
    struct file *file = disk_find(disk, path);
    // As for Unix: an empty file does not exist.
    *answer = file && file->exists && (flags != SQLITE_ACCESS_EXISTS || file->now.size > 0);
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int count, char *full) {
    (void)vfs;
    sqlite3_snprintf(count, full, "%s", path);
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
    crash_disk *disk = vfs->pAppData;
    for (int index = 0; index < count; index++) bytes[index] = (char)disk_roll(disk, 256);
    return count;
}

/// Nobody is kept waiting: time is the test's.
static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, double *days) {
    (void)vfs;
    *days = 2461376.0;
    return SQLITE_OK;
}

void vfs_fill(sqlite3_vfs *vfs, crash_disk *disk, const char *name) {
    *vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = 256,
        .zName = name,
        .pAppData = disk,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
    };
}
