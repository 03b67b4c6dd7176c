// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "secrets.h"

#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
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

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

// How many files of a run the runner removes itself. What has more, a process of its own removes: so many at a time.
enum { AT_ONCE = 2 * SECRET_LIMIT, ASIDE_LIMIT = 8 };

// How often the runner's own folder is tried to be made; how folders are opened.
enum { TRIES = 16, FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

// `all`: the folder that the runners of this user share. `above`: the one that it is in, which may have to be made, too.
static char above[PATH_MAX], all[PATH_MAX + 16];
// A descriptor of this runner's folder within `all`, and its name; it is locked for as long as the runner lives.
static int own = -1;
static char own_name[16];
// Whether folders wait to be removed until one of the processes that remove them has ended.
static bool is_left;
// These processes, and the folder that each removes; of an unused place the number is 0.
static struct remover {
    pid_t pid;
    char name[24];
} removers[ASIDE_LIMIT];

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

// Whether the path still leads to the runner's own folder: somebody may have removed it, as who tidies up /run does.
static bool has_own(void) {
    char path[PATH_MAX + 64];
    struct stat held, found;
    snprintf(path, sizeof path, "%s/%s", all, own_name);
    if (own == -1) return false;
    // Without memory nothing is known, and runs may have their secrets there.
    if (fstat(own, &held) == -1) return true;
    if (lstat(path, &found) == -1) return errno != ENOENT && errno != ENOTDIR;
    return held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

// Makes the runner's own folder, unless it is there; 0 or the errno.
static int make_own(void) {
    if (has_own()) return 0;
    if (own != -1) close(own);
    own = -1;
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

// Without root's rights a folder that may not be written to keeps what it has, and its place.
static void make_writable(int folder, const char *name) {
    if (geteuid() != 0) fchmodat(folder, name, 0700, 0);
}

// Not where another file system begins: a user may have mounted it, and it may not answer.
static int open_to_empty(int folder, const char *name) {
    struct open_how how = {.flags = FOLDER, .resolve = RESOLVE_NO_XDEV};
    make_writable(folder, name);
    int inner = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
    // A kernel before 5.6, or a filter that does not know the call.
    return inner == -1 && (errno == ENOSYS || errno == EPERM) ? openat(folder, name, FOLDER) : inner;
}

// The same as a list; NULL if it cannot be opened.
static DIR *list_to_empty(int folder, const char *name) {
    int inner = open_to_empty(folder, name);
    DIR *entries = inner == -1 ? NULL : fdopendir(inner);
    if (!entries && inner != -1) close(inner);
    return entries;
}

static struct dirent *next_of(DIR *entries) {
    struct dirent *entry;
    while ((entry = readdir(entries)) && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)) {}
    return entry;
}

// `is_full`: it is a folder that has something in it. One where another file system begins is not removed, nor full.
enum removal { is_removed, is_full, is_kept };

static enum removal remove_one(int folder, const char *name) {
    if (unlinkat(folder, name, 0) == 0) return is_removed;
    if (errno != EISDIR && errno != EPERM) return is_kept;
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0) return is_removed;
    return errno == ENOTEMPTY || errno == EEXIST ? is_full : is_kept;
}

// Moves a folder up into `top`, under the next number that is no name there.
static bool move_up(int folder, const char *name, int top, uint64_t *number) {
    make_writable(folder, name);
    for (;;) {
        char new_name[24];
        snprintf(new_name, sizeof new_name, "%llu", (unsigned long long)(*number)++);
        if (renameat(folder, name, top, new_name) == 0) return true;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return false;
    }
}

// Empties a folder within `top` of its files, and of its folders that have something: these come up into `top`. Whether
// that changed anything.
static bool empty_into(int top, const char *name, uint64_t *number) {
    DIR *entries = list_to_empty(top, name);
    bool has_changed = false;
    for (struct dirent *entry; entries && (entry = next_of(entries));) {
        enum removal removal = remove_one(dirfd(entries), entry->d_name);
        has_changed |= removal == is_removed ||
                       (removal == is_full && move_up(dirfd(entries), entry->d_name, top, number));
    }
    if (entries) closedir(entries);
    return has_changed;
}

// Its owner may be making more meanwhile, and links: none is followed, and what is removed is in a folder that is open.
// There may be folders within each other to any depth, of which two are open at a time.
static void remove_all(int folder, const char *name) {
    if (remove_one(folder, name) != is_full) return;
    DIR *entries = list_to_empty(folder, name);
    uint64_t number = 0;
    for (bool has_changed = entries != NULL; has_changed;) {
        has_changed = false;
        rewinddir(entries);
        for (struct dirent *entry; (entry = next_of(entries));) {
            enum removal removal = remove_one(dirfd(entries), entry->d_name);
            bool is_emptied = removal == is_full && empty_into(dirfd(entries), entry->d_name, &number);
            if (is_emptied) unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
            has_changed |= removal == is_removed || is_emptied;
        }
    }
    if (entries) closedir(entries);
    unlinkat(folder, name, AT_REMOVEDIR);
}

static void close_others(int one, int two) {
    int low = one < two ? one : two, high = one < two ? two : one;
    if (low > 3) syscall(SYS_close_range, 3U, low - 1U, 0);
    if (high > low + 1) syscall(SYS_close_range, low + 1U, high - 1U, 0);
    syscall(SYS_close_range, high + 1U, ~0U, 0);
}

static struct remover *find_remover(pid_t pid) {
    for (size_t i = 0; i < ASIDE_LIMIT; i++)
        if (removers[i].pid == pid) return &removers[i];
    return NULL;
}

// In a process of its own: a run may have left as much as there was room for, where its user could write to the folder.
// Without one it is left until another has ended, or to the next runner. `lock`: stays open, and so locked, until all is
// removed.
static void remove_aside(int folder, const char *name, int lock) {
    struct remover *remover = find_remover(0);
    pid_t pid = remover ? fork() : -1;
    is_left |= pid == -1;
    if (pid > 0) {
        remover->pid = pid;
        snprintf(remover->name, sizeof remover->name, "%.23s", name);
    }
    if (pid != 0) return;
    // Whoever goes on making files there would keep it at work for ever: the rest is left to the next runner.
    signal(SIGALRM, SIG_DFL);
    alarm(600);
    close_others(folder, lock);
    remove_all(folder, name);
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

// Whether that is of a run that has ended, and nothing removes it.
static bool is_left_over(const char *name) {
    for (size_t i = 0; i < ASIDE_LIMIT; i++)
        if (removers[i].pid != 0 && strcmp(removers[i].name, name) == 0) return false;
    struct run *run = find_run(strtoull(name, NULL, 10));
    return !run || run->phase == phase_ended;
}

void secrets_forget(pid_t pid) {
    struct remover *remover = find_remover(pid);
    if (!remover) return;
    remover->pid = 0;
    int folder = is_left ? openat(own, ".", FOLDER) : -1;
    DIR *entries = folder == -1 ? NULL : fdopendir(folder);
    if (!entries && folder != -1) close(folder);
    if (!entries) return;
    is_left = false;
    for (struct dirent *entry; !is_left && (entry = next_of(entries));)
        if (is_left_over(entry->d_name)) remove_aside(own, entry->d_name, own);
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
