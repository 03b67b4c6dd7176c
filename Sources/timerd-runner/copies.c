// SPDX-License-Identifier: Apache-2.0
// The files of a run's secrets, as its process makes them.

#define _GNU_SOURCE
#include "child.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

// The copies, which are open until they are written; how many bytes there may be still; and the run's own RLIMIT_NOFILE.
static int copies[SECRET_LIMIT];
static size_t left = SECRET_BYTES;
static struct rlimit open_files;

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

// Has the run's user read a file or enter a folder, and do no more: it stays the runner's, and has a list as acl(5) has
// it. Its owner could write to it, and fill /run. `permissions` are one digit of a mode.
static void give(const struct plan *plan, int file, uint16_t permissions, const char *path) {
    bool is_own = !plan->has_credentials || plan->uid == geteuid();
    uint16_t may = htole16(permissions);
    uint32_t nobody = htole32((uint32_t)ACL_UNDEFINED_ID);
    const struct {
        struct posix_acl_xattr_header header;
        struct posix_acl_xattr_entry entries[5];
    } list = {
        {htole32(POSIX_ACL_XATTR_VERSION)},
        {
            {htole16(ACL_USER_OBJ), may, nobody},
            {htole16(ACL_USER), may, htole32(plan->uid)},
            {htole16(ACL_GROUP_OBJ), 0, nobody},
            {htole16(ACL_MASK), may, nobody},
            {htole16(ACL_OTHER), 0, nobody},
        },
    };
    int error = is_own ? 0 : EOPNOTSUPP;
    if (!is_own) error = fsetxattr(file, "system.posix_acl_access", &list, sizeof list, 0) == 0 ? 0 : errno;
    if (!is_own && error == 0) return;
    // A file system without such lists, or a filter of calls.
    if (error == EOPNOTSUPP || error == ENOSYS || error == EPERM)
        error = fchown(file, plan->uid, plan->gid) == 0 ? 0 : errno;
    if (error == 0 && fchmod(file, (mode_t)permissions << 6) == -1) error = errno;
    if (error != 0) fail_secret(cspawn_step_secret_copy, error, path);
}

// Writes a copy, and closes it.
static void copy_secret(const struct secret *secret, int to) {
    char bytes[8192];
    struct stat status;
    // A pipe would have nobody at its other end, and be waited for.
    int from = open(secret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (from == -1 || fstat(from, &status) == -1) fail_secret(cspawn_step_secret_source, errno, secret->path);
    // 0: it is no file. What the kernel says of processes is none either: this one is a copy of the runner, and
    // /proc/self/maps would tell its user where root's runner has its memory.
    if (!S_ISREG(status.st_mode) || is_of_proc(from)) fail_secret(cspawn_step_secret_source, 0, secret->path);
    for (ssize_t count; (count = read(from, bytes, sizeof bytes)) != 0;) {
        if (count == -1 && errno == EINTR) continue;
        if (count == -1) fail_secret(cspawn_step_secret_source, errno, secret->path);
        if ((size_t)count > left) fail_secret(cspawn_step_secret_source, EFBIG, secret->path);
        left -= (size_t)count;
        for (ssize_t written = 0, more; written < count; written += more) {
            more = write(to, bytes + written, (size_t)(count - written));
            if (more == -1 && errno != EINTR) fail_secret(cspawn_step_secret_copy, errno, secret->copy);
            if (more == -1) more = 0;
        }
    }
    close(from);
    close(to);
}

static void copy_secrets(const struct plan *plan, bool as_runner) {
    for (size_t i = 0; i < plan->secret_count; i++)
        if (plan->secrets[i].as_runner == as_runner) copy_secret(&plan->secrets[i], copies[i]);
}

// The user makes nothing in the folder, so all copies are made before the process becomes that user, and stay open.
static void make_copies(const struct plan *plan) {
    umask(077);
    int error = plan->secrets_error;
    if (error == 0 && mkdir(plan->secrets_folder, 0700) == -1) error = errno;
    int folder = error == 0 ? open(plan->secrets_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (error == 0 && folder == -1) error = errno;
    if (error != 0) fail_secret(cspawn_step_secret_copy, error, plan->secrets_folder);
    for (size_t i = 0; i < plan->secret_count; i++) {
        const char *path = plan->secrets[i].copy;
        copies[i] = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
        if (copies[i] == -1) fail_secret(cspawn_step_secret_copy, errno, path);
        give(plan, copies[i], 4, path);
    }
    give(plan, folder, 5, plan->secrets_folder);
    close(folder);
}

void begin_secrets(const struct plan *plan) {
    if (!plan->secrets_folder) return;
    getrlimit(RLIMIT_NOFILE, &open_files);
    struct rlimit most = {open_files.rlim_max, open_files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
    make_copies(plan);
    copy_secrets(plan, true);
}

void end_secrets(const struct plan *plan) {
    if (!plan->secrets_folder) return;
    copy_secrets(plan, false);
    if (setrlimit(RLIMIT_NOFILE, &open_files) == -1) fail(cspawn_step_descriptors, errno);
}

IN_CHILD_END
