// SPDX-License-Identifier: Apache-2.0
// A runner that is stopped while no daemon is connected knows ends that nobody has stored. Taken for interrupted, a command
// that ended well would run again. So they stay, in a file beside its socket, and the next runner tells them.
//
// They are true whatever becomes of any runner, and a daemon takes what it is told before it looks at the epoch. So the file
// stays until the last of them is stored, also where the next runner is killed meanwhile. The epoch says more, that what is
// not known was never begun: it is handed on behind this file, counts only with it (epoch.c), and is gone once it is taken.

#define _GNU_SOURCE
#include "ends.h"

#include "epoch.h"
#include "log.h"
#include "place.h"
#include "reports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// More than as many runs take as there may be.
enum { MOST = 32 << 20 };

// The file's last frame: its length, its kind and the hash of all before it.
enum { SEAL = 4 + 1 + 8 };

// Empty where the socket has no path. Beside it what is not written to its end yet.
static char path[sizeof((struct sockaddr_un *)NULL)->sun_path + sizeof "-ends"], fresh[sizeof path + sizeof ".new"];
// How many that were taken from the file are not stored.
static size_t kept_count;

static bool find_paths(void) {
    if (!place_path()[0]) return false;
    snprintf(path, sizeof path, "%s-ends", place_path());
    snprintf(fresh, sizeof fresh, "%s.new", path);
    return true;
}

// MARK: - Taking them up

// What is no use to any runner is removed.
static const char damaged[] = "it was written in part, or changed", of_before[] = "it is of another boot";
static const char no_boot[] = "the system does not say which boot this is";

// Reads the file. Returns NULL, also if there is no file; or the reason if it cannot be read.
static const char *load(uint8_t **bytes, size_t *size) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file == -1) return errno == ENOENT ? NULL : strerror(errno);
    const char *trouble = NULL;
    struct stat status;
    if (fstat(file, &status) == -1 || !is_of_runner(&status, MOST))
        trouble = "it is no file that a runner of this user has left";
    else if (!(*bytes = malloc((size_t)status.st_size + 1)))
        trouble = strerror(ENOMEM);
    ssize_t count = 0;
    // One byte more than there is shows its end.
    while (!trouble && (count = read(file, *bytes + *size, (size_t)status.st_size + 1 - *size)) > 0) *size += (size_t)count;
    if (count == -1) trouble = strerror(errno);
    close(file);
    return trouble;
}

// What the next frame says, which is of that kind.
static struct reader take_frame(struct reader *file, enum report kind) {
    struct span frame = take_bytes(file);
    if (file->failed) return *file;
    struct reader from = {frame.bytes, frame.bytes + frame.count, false};
    from.failed = take_u8(&from) != kind;
    return from;
}

static void take_known(struct run *run, struct reader *from) {
    take_u8(from);
    run->pid = (pid_t)take_u32(from);
    run->started_at = (int64_t)take_u64(from);
    run->kept = take_u32(from);
    for (int i = 0; i < 2; i++) run->passed[i] = take_u64(from);
}

static void take_end(struct run *run, struct reader *from) {
    uint8_t outcome = take_u8(from);
    uint32_t code = take_u32(from);
    run->is_timed_out = outcome == 2;
    run->is_interrupted = outcome == 4;
    // Of the other outcomes the code is told as it is, be it a status or a signal.
    run->wait_status = (int)(outcome == 1 ? code & 0x7f : (code & 0xff) << 8);
    run->started_at = (int64_t)take_u64(from);
    run->ended_at = (int64_t)take_u64(from);
    run->user_time = take_u64(from);
    run->system_time = take_u64(from);
    run->peak_memory = take_u64(from);
    // What it wrote has gone with the runner that had it. Only how many bytes came is known.
    for (int i = 0; i < 2; i++) run->output.tails[i].end = take_u64(from);
    uint32_t survivors = take_u32(from);
    for (uint32_t i = 0; i < survivors && i < SURVIVOR_LIMIT; i++)
        run->survivors[run->survivor_count++] = (pid_t)take_u32(from);
    struct span failure = take_bytes(from);
    run->is_out_of_memory = take_u8(from) != 0;
    if (outcome > 4 || survivors > SURVIVOR_LIMIT || failure.count > sizeof run->failure || (failure.count > 0) != (outcome == 3))
        from->failed = true;
    if (from->failed || failure.count == 0) return;
    memcpy(run->failure, failure.bytes, failure.count);
    run->failure_size = failure.count;
}

// Takes up a run from the reports that a daemon would have got of it. Returns NULL, or the reason if it could not.
static const char *take_run(struct reader *file) {
    struct reader known = take_frame(file, report_known), ended = take_frame(file, report_ended);
    uint64_t id = take_u64(&known);
    int error;
    if (take_u64(&ended) != id || known.failed || ended.failed || find_run(id)) return damaged;
    struct run *run = add_run(id, sizeof *run, &error);
    if (!run) return strerror(error);
    note_end();
    run->phase = phase_ended;
    take_known(run, &known);
    take_end(run, &ended);
    if (!is_read(&known) || !is_read(&ended)) {
        remove_run(run);
        return damaged;
    }
    run->is_kept = true;
    kept_count++;
    return NULL;
}

// The first frame: of which boot the file is, and by which version of the protocol it was written.
static const char *take_head(struct reader *file) {
    struct reader from = take_frame(file, report_welcome);
    uint32_t version = take_u32(&from);
    struct span boot = take_bytes(&from);
    if (from.failed) return damaged;
    size_t length = strlen(this_boot());
    if (length == 0) return no_boot;
    if (boot.count != length || memcmp(boot.bytes, this_boot(), length) != 0) return of_before;
    return version > PROTOCOL_VERSION ? "it is of a newer release" : NULL;
}

static const char *take_all(const uint8_t *bytes, size_t size, uint64_t *ends) {
    if (size < SEAL) return damaged;
    struct reader file = {bytes, bytes + size - SEAL, false}, rest = {file.end, bytes + size, false};
    struct reader seal = take_frame(&rest, report_synced);
    *ends = hash_of(bytes, size - SEAL);
    if (take_u64(&seal) != *ends || !is_read(&seal)) return damaged;
    const char *trouble = take_head(&file);
    while (!trouble && !is_read(&file)) trouble = take_run(&file);
    return trouble;
}

uint64_t take_ends(void) {
    if (!find_paths()) return 0;
    uint8_t *bytes = NULL;
    size_t size = 0;
    uint64_t ends = 0;
    const char *trouble = load(&bytes, &size);
    if (!trouble && bytes) trouble = take_all(bytes, size, &ends);
    free(bytes);
    if (!trouble) return ends;
    say("cannot take the ends of runs from '%s': %s; those that are not stored count as interrupted", path, trouble);
    if (trouble == damaged || trouble == of_before) unlink(path);
    return 0;
}

void forget_kept(const struct run *run) {
    if (!run->is_kept || --kept_count > 0) return;
    // What another runner has there is that one's. Where it stays, ends are told again, and stored already.
    if (!is_superseded()) unlink(path);
}

// MARK: - Keeping them

struct list {
    struct buffer bytes;
    bool is_complete;
};

static void list_run(struct run *run, void *context) {
    struct list *list = context;
    if (list->is_complete) list->is_complete = put_kept(&list->bytes, run);
}

// All that the file is to have; false without memory.
static bool compose(struct buffer *to, uint64_t *ends) {
    uint32_t length = (uint32_t)strlen(this_boot());
    size_t start = begin_frame(to, report_welcome, 8 + length);
    if (start == SIZE_MAX) return false;
    put_u32(to, PROTOCOL_VERSION);
    put_bytes(to, this_boot(), length);
    end_frame(to, start);
    struct list list = {*to, true};
    for_each_run(list_run, &list);
    *to = list.bytes;
    if (!list.is_complete || (start = begin_frame(to, report_synced, SEAL)) == SIZE_MAX) return false;
    *ends = hash_of(to->bytes, start);
    put_u64(to, *ends);
    end_frame(to, start);
    return true;
}

static bool is_foreign(const char *file) {
    struct stat status;
    return lstat(file, &status) == 0 && !is_of_runner(&status, MOST);
}

// Writes the file, in place of the one before, which stays where that fails; 0, or the errno.
static int save(const uint8_t *bytes, size_t size) {
    if (size > MOST) return EFBIG;
    if (is_foreign(path) || is_foreign(fresh)) return EEXIST;
    unlink(fresh);
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file == -1) return errno;
    int error = 0;
    for (ssize_t done; size > 0 && error == 0; bytes += done, size -= (size_t)done)
        if ((done = write(file, bytes, size)) == -1) error = errno, done = 0;
    // Some file systems say only here that there was no room. For a loss of power that is not needed: it counts for one boot.
    if (error == 0 && fsync(file) == -1) error = errno;
    if (close(file) == -1 && error == 0) error = errno;
    if (error == 0 && rename(fresh, path) == -1) error = errno;
    if (error != 0) unlink(fresh);
    return error;
}

// Why the next runner would not find them; NULL where it would.
static const char *obstacle(void) {
    if (!path[0]) return "its socket has no path";
    if (!this_boot()[0]) return no_boot;
    // One that holds the lock is followed by whoever gets it next, be the socket that one's.
    return is_superseded() ? "another's file is in the place of its socket, and of its lock" : NULL;
}

bool keep_ends(uint64_t *ends) {
    *ends = 0;
    size_t count = run_count();
    if (count == 0) return true;
    const char *s = count == 1 ? "" : "s", *why = obstacle();
    struct buffer bytes = {0};
    int error = why ? 0 : compose(&bytes, ends) ? save(bytes.bytes, bytes.end) : ENOMEM;
    free(bytes.bytes);
    if (why)
        say("drops the ends of %zu run%s, which no daemon has stored: %s", count, s, why);
    else if (error != 0)
        say("drops the ends of %zu run%s, which no daemon has stored: cannot write '%s': %s", count, s, path, strerror(error));
    else
        say("keeps the ends of %zu run%s, which no daemon has stored, in '%s'", count, s, path);
    return !why && error == 0;
}
