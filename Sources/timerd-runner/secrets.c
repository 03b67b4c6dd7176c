// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "secrets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

// DEPTH: of folders that a run has made within its own. AT_ONCE: what is removed without another process.
enum { TRIES = 16, DEPTH = 32, AT_ONCE = 2 * SECRET_LIMIT, FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

// The folder of all runners of this user, and above it what may have to be made.
static char above[PATH_MAX], all[PATH_MAX + 16];
// That of this runner; it is locked for as long as the runner lives.
static int own = -1;
static char own_name[16];

// MARK: - Places

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

// A file system in memory where there is one: /run is, by file-hierarchy(7). Else beside the runner's socket.
static void find_place(int listener) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char of_user[32];
    snprintf(of_user, sizeof of_user, "/run/user/%u", geteuid());
    if (geteuid() == 0) {
        strcpy(above, "/run/timerd");
    } else if (runtime && runtime[0] == '/' && strlen(runtime) < PATH_MAX - 16) {
        snprintf(above, sizeof above, "%s/timerd", runtime);
    } else if (is_folder(of_user)) {
        snprintf(above, sizeof above, "%s/timerd", of_user);
    } else {
        struct sockaddr_un address = {0};
        socklen_t size = sizeof address;
        getsockname(listener, (struct sockaddr *)&address, &size);
        char *end = strrchr(address.sun_path, '/');
        if (!end) return;
        snprintf(above, sizeof above, "%.*s", (int)(end - address.sun_path), address.sun_path);
    }
    snprintf(all, sizeof all, "%s/credentials", above);
}

// Makes a folder unless it is there, and opens it; -1 and the errno. Nobody else may change what is in it.
static int make(int folder, const char *path, mode_t mode) {
    bool is_new = mkdirat(folder, path, 0700) == 0;
    if (!is_new && errno != EEXIST) return -1;
    int made = openat(folder, path, FOLDER);
    struct stat status;
    if (made == -1) return -1;
    bool is_mine = fstat(made, &status) == 0 && status.st_uid == geteuid() && !(status.st_mode & 022);
    // The mask of the runner is not meant for it.
    if (is_mine && (!is_new || fchmod(made, mode) == 0)) return made;
    int error = is_mine ? errno : EPERM;
    close(made);
    errno = error;
    return -1;
}

// Tries to make the runner's own folder; 0 or the errno: ENOENT or EAGAIN where another runner removed it meanwhile, as
// one that was left, or the folder of all as one that was empty.
static int try_own(void) {
    uint64_t random;
    struct stat status;
    int first = make(AT_FDCWD, above, 0755);
    // Its users go through it, and find no more than they know the name of.
    int folder = first == -1 ? -1 : make(first, "credentials", 0711);
    if (folder != -1 && getrandom(&random, sizeof random, 0) == sizeof random) {
        snprintf(own_name, sizeof own_name, "%015llx", (unsigned long long)random >> 4);
        own = make(folder, own_name, 0711);
    }
    int error = own == -1 ? errno : 0;
    if (first != -1) close(first);
    if (folder != -1) close(folder);
    if (own == -1) return error;
    if (flock(own, LOCK_EX | LOCK_NB) == 0 && fstat(own, &status) == 0 && status.st_nlink > 0) return 0;
    close(own);
    own = -1;
    return EAGAIN;
}

// Makes the runner's own folder, unless there is one; 0 or the errno.
static int make_own(void) {
    if (own != -1) return 0;
    int error = ENOENT;
    for (int i = 0; i < TRIES && above[0] && (error == ENOENT || error == EAGAIN); i++) error = try_own();
    return error;
}

char *secrets_folder(uint64_t run, int *error) {
    char *path;
    *error = make_own();
    return asprintf(&path, "%s/%s/%llu", all, own_name, (unsigned long long)run) == -1 ? NULL : path;
}

// MARK: - What is removed

// Without root's rights a folder that may not be written to keeps what it has.
static int open_to_empty(int folder, const char *name) {
    if (geteuid() != 0) fchmodat(folder, name, 0700, 0);
    return openat(folder, name, FOLDER);
}

// Its owner may be making more meanwhile, and links: none is followed, and what is removed is in the folder that is open.
static void remove_all(int folder, const char *name, int depth) {
    if (unlinkat(folder, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
    int inner = depth == 0 ? -1 : open_to_empty(folder, name);
    DIR *entries = inner == -1 ? NULL : fdopendir(inner);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_all(inner, entry->d_name, depth - 1);
    if (entries) closedir(entries);
    unlinkat(folder, name, AT_REMOVEDIR);
}

static void close_others(int one, int two) {
    int low = one < two ? one : two, high = one < two ? two : one;
    if (low > 3) syscall(SYS_close_range, 3U, low - 1U, 0);
    if (high > low + 1) syscall(SYS_close_range, low + 1U, high - 1U, 0);
    syscall(SYS_close_range, high + 1U, ~0U, 0);
}

// In a process of its own: a run may have left as much as there was room for. Without one it is left to the next runner.
// `lock`: stays open, and so locked, until all is removed.
static void remove_aside(int folder, const char *name, int lock) {
    if (fork() != 0) return;
    close_others(folder, lock);
    remove_all(folder, name, DEPTH);
    _exit(0);
}

// What there should be, and a little more; whether nothing is left.
static bool remove_few(int folder, const char *name) {
    int inner = open_to_empty(folder, name);
    if (inner == -1) return errno == ENOENT;
    DIR *entries = fdopendir(inner);
    struct dirent *entry;
    for (int i = 0; entries && i < AT_ONCE && (entry = readdir(entries)); i++) unlinkat(inner, entry->d_name, 0);
    if (entries)
        closedir(entries);
    else
        close(inner);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

void secrets_remove(uint64_t run) {
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)run);
    if (own != -1 && !remove_few(own, name)) remove_aside(own, name, own);
}

void secrets_open(int listener) {
    find_place(listener);
    int folder = open(all, FOLDER);
    DIR *entries = folder == -1 ? NULL : fdopendir(folder);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        int left = entry->d_name[0] == '.' ? -1 : openat(folder, entry->d_name, FOLDER);
        // One that is locked is of a runner that lives, perhaps another daemon's.
        if (left != -1 && flock(left, LOCK_EX | LOCK_NB) == 0) remove_aside(folder, entry->d_name, left);
        if (left != -1) close(left);
    }
    closedir(entries);
}

void secrets_let_go(void) {
    if (own != -1) close(own);
}

void secrets_close(void) {
    if (own != -1) {
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/%s", all, own_name);
        rmdir(path);
        close(own);
    }
    // That of all runners goes with the last of them: only an empty one can be removed.
    rmdir(all);
}
