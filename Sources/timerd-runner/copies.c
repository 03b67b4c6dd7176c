// SPDX-License-Identifier: Apache-2.0
// The files of a run's secrets, as its process makes them.

#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

IN_CHILD_BEGIN

static _Noreturn void fail_secret(enum cspawn_step step, int error, const char *path) {
    struct cspawn_report report = {.step = step, .error = error, .file = -1};
    size_t length = strlen(path);
    report.head_count = (int32_t)(length < sizeof report.head ? length : sizeof report.head);
    memcpy(report.head, path, (size_t)report.head_count);
    give_up(STATUS, &report);
}

static bool is_of_proc(int file) {
    struct statfs system;
    return fstatfs(file, &system) == -1 || system.f_type == PROC_SUPER_MAGIC;
}

// Copies a file; `left` is how many bytes there may be still.
static void copy_secret(const struct plan *plan, const struct secret *secret, size_t *left) {
    char bytes[8192];
    struct stat status;
    // A pipe would have nobody at its other end, and be waited for.
    int from = open(secret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (from == -1 || fstat(from, &status) == -1) fail_secret(cspawn_step_secret_source, errno, secret->path);
    // 0: it is no file. What the kernel says of processes is none either: this one is a copy of the runner, and
    // /proc/self/maps would tell its user where root's runner has its memory.
    if (!S_ISREG(status.st_mode) || is_of_proc(from)) fail_secret(cspawn_step_secret_source, 0, secret->path);
    int to = open(secret->copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    if (to == -1) fail_secret(cspawn_step_secret_copy, errno, secret->copy);
    for (ssize_t count; (count = read(from, bytes, sizeof bytes)) != 0;) {
        if (count == -1 && errno == EINTR) continue;
        if (count == -1) fail_secret(cspawn_step_secret_source, errno, secret->path);
        if ((size_t)count > *left) fail_secret(cspawn_step_secret_source, EFBIG, secret->path);
        *left -= (size_t)count;
        for (ssize_t written = 0, more; written < count; written += more) {
            more = write(to, bytes + written, (size_t)(count - written));
            if (more == -1 && errno != EINTR) fail_secret(cspawn_step_secret_copy, errno, secret->copy);
            if (more == -1) more = 0;
        }
    }
    if (secret->as_runner && plan->has_credentials && fchown(to, plan->uid, plan->gid) == -1)
        fail_secret(cspawn_step_secret_copy, errno, secret->copy);
    close(from);
    close(to);
}

static void copy_secrets(const struct plan *plan, bool as_runner, size_t *left) {
    for (size_t i = 0; i < plan->secret_count; i++)
        if (plan->secrets[i].as_runner == as_runner) copy_secret(plan, &plan->secrets[i], left);
}

void begin_secrets(const struct plan *plan, size_t *left) {
    if (!plan->secrets_folder) return;
    umask(077);
    int error = plan->secrets_error;
    if (error == 0 && mkdir(plan->secrets_folder, 0700) == -1) error = errno;
    if (error != 0) fail_secret(cspawn_step_secret_copy, error, plan->secrets_folder);
    copy_secrets(plan, true, left);
    if (plan->has_credentials && chown(plan->secrets_folder, plan->uid, plan->gid) == -1)
        fail_secret(cspawn_step_secret_copy, errno, plan->secrets_folder);
}

void end_secrets(const struct plan *plan, size_t *left) {
    if (!plan->secrets_folder) return;
    copy_secrets(plan, false, left);
    if (chmod(plan->secrets_folder, 0500) == -1) fail_secret(cspawn_step_secret_copy, errno, plan->secrets_folder);
}

IN_CHILD_END
