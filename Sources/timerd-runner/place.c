// SPDX-License-Identifier: Apache-2.0
// A run is begun twice where a second runner takes the place of one that goes on. So each holds a lock beside its socket, on
// which the daemon looks before it starts one; and a socket whose file is removed is made anew.

#define _GNU_SOURCE
#include "place.h"

#include "daemon.h"
#include "log.h"
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// As many connections may wait for it as with the daemon's own.
enum { BACKLOG = 16 };

// How often its file is made anew at once, and how soon it is looked for again where that does not help, in µs.
enum { TRIES = 8, KEEP_AGAIN = 5000000 };

// How long a file that cannot be made anew, as its folder is gone, is waited for by a runner that has nothing to do, in µs: a
// day, for the folder may come back from where it was moved to.
static const int64_t patience = 86400000000;

// Empty where the socket has no path.
static char path[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
// The file that was there at the start, and the one that was made last: whoever moves the first one back finds it listening.
static struct stat files[2];
// Why the file could not be made anew, as an errno; 0 where it could.
static int refusal;
// Since when there is no file, and no folder to make one in; 0 while that is not so.
static int64_t missing_since;
static struct source changes = {.descriptor = -1};
// The lock is the process's: no child has it, and it ends with the process.
static int lock = -1;

const char *place_path(void) { return path; }

bool is_of_runner(const struct stat *status, off_t most) {
    return S_ISREG(status->st_mode) && status->st_uid == geteuid() && status->st_size <= most;
}

// MARK: - The lock

enum { LOCK_NAME = sizeof path + sizeof "-lock" };

static void find_lock(char *name) { snprintf(name, LOCK_NAME, "%s-lock", path); }

static int lock_file(void) {
    char name[LOCK_NAME];
    find_lock(name);
    // Not for writing: a file system on which one is open cannot be made read-only.
    int file = open(name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status;
    // Another user's could be locked by that one.
    if (file == -1 || (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())) return file;
    close(file);
    errno = EEXIST;
    return -1;
}

static bool take_lock(pid_t *holder) {
    // A lock for reading, which several could have: who finds another one's gives its own back. Of two that begin at once
    // neither may stay, and whoever wanted one of them tries again.
    struct flock own = {.l_type = F_RDLCK, .l_whence = SEEK_SET}, others = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int file = lock_file();
    if (file == -1 || fcntl(file, F_SETLK, &own) == -1 || fcntl(file, F_GETLK, &others) == -1) {
        say("cannot lock '%s-lock': %s", path, strerror(errno));
        if (file != -1) close(file);
        return true;
    }
    if (others.l_type == F_UNLCK) {
        lock = file;
        return true;
    }
    *holder = others.l_pid;
    close(file);
    return false;
}

bool take_place(int listener, pid_t *holder) {
    struct sockaddr_un address = {0};
    socklen_t size = sizeof address;
    *holder = 0;
    if (getsockname(listener, (struct sockaddr *)&address, &size) == -1 || address.sun_path[0] != '/') return true;
    // The kernel's address need not end with a NUL.
    snprintf(path, sizeof path, "%.*s", (int)sizeof address.sun_path, address.sun_path);
    for (int i = 0; i < 2; i++)
        if (lstat(path, &files[i]) == -1) files[i].st_ino = 0;
    return take_lock(holder);
}

void leave_place(void) {
    if (lock != -1) close(lock);
    lock = -1;
}

// MARK: - The socket's file

static bool is_own(const struct stat *file) {
    for (int i = 0; i < 2; i++)
        if (file->st_dev == files[i].st_dev && file->st_ino == files[i].st_ino) return true;
    return false;
}

bool is_displaced(void) {
    struct stat now;
    return path[0] && lstat(path, &now) == 0 && !is_own(&now);
}

static bool is_missing(void) {
    struct stat now;
    return lstat(path, &now) == -1 && (errno == ENOENT || errno == ENOTDIR);
}

// Whether another that begins now finds the lock of this one: also its file may have been removed, and made anew by others.
static bool has_lock(void) {
    char name[LOCK_NAME];
    struct stat own, there;
    find_lock(name);
    return lock != -1 && fstat(lock, &own) == 0 && lstat(name, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

bool is_superseded(void) { return is_displaced() && !has_lock(); }

bool is_given_up(void) { return missing_since != 0 && loop_now() - missing_since >= patience; }

bool is_deserted(void) { return is_missing() || is_superseded(); }

static int listen_anew(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener == -1) return errno;
    mode_t mask = umask(0177);
    int error = bind(listener, (struct sockaddr *)&address, sizeof address) == -1 ? errno : 0;
    umask(mask);
    bool is_bound = error == 0;
    if (is_bound && listen(listener, BACKLOG) == -1) error = errno;
    if (error == 0) error = listen_to_daemons(listener);
    if (error == 0) return 0;
    if (is_bound) unlink(path);
    close(listener);
    return error;
}

// The watch on a file that has been removed has gone with it.
static void watch_file(void) {
    if (changes.descriptor != -1)
        inotify_add_watch(changes.descriptor, path, IN_ATTRIB | IN_MOVE_SELF | IN_DONT_FOLLOW);
}

// Whether it was made; why it was not is said once.
static bool make_file(void) {
    static bool is_said;
    int error = listen_anew();
    if (error != 0 && !is_said) say("cannot make its socket '%s' anew: %s; it tries again", path, strerror(error));
    is_said = error != 0;
    refusal = error;
    if (error != 0) return false;
    if (lstat(path, &files[1]) == -1) files[1].st_ino = 0;
    watch_file();
    say("its socket '%s' was removed, and is made anew", path);
    return true;
}

static void keep_again(struct alarm *alarm) {
    (void)alarm;
    keep_place();
}

void keep_place(void) {
    static struct alarm again = {.ring = keep_again};
    // More than once where that one has been removed before it was watched.
    for (int i = 0; i < TRIES && path[0] && is_missing() && make_file(); i++) {}
    // Where there is no room for it, there will be: what the daemon has not taken stays for that.
    if (!path[0] || !is_missing() || refusal != ENOENT)
        missing_since = 0;
    else if (missing_since == 0)
        missing_since = loop_now();
    // No change tells of room for it, and the removal of another's file may come before that is watched.
    if (path[0] && (is_missing() || is_displaced())) alarm_set(&again, loop_now() + KEEP_AGAIN);
}

static void file_changed(struct source *source) {
    char events[1024];
    while (read(source->descriptor, events, sizeof events) > 0) {}
    // What is in its place may go again.
    watch_file();
    keep_place();
}

void watch_place(void) {
    if (!path[0]) return;
    changes = (struct source){inotify_init1(IN_CLOEXEC | IN_NONBLOCK), file_changed};
    // Where there is none to be had, the end of a daemon's connection is when the runner looks.
    if (changes.descriptor != -1 && loop_watch(&changes, false) != 0) loop_close(&changes);
    watch_file();
    // It may have been removed before there was a watch.
    keep_place();
}
