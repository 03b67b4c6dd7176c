// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CSpawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

int cspawn_program(const char *path, char *const *argv, int null, int listener, int keeps_errors, int32_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
        // What it has to say of runs it says to daemons. It outlives whoever reads the caller's output, and must not
        // keep a pipe of theirs open, unless all processes end with the caller.
        bool has_errors = keeps_errors && fcntl(STDERR_FILENO, F_GETFD) != -1;
        for (int i = 0; error == 0 && i < 3; i++)
            // To itself: that takes away its close-on-exec.
            error = posix_spawn_file_actions_adddup2(&actions, i == STDERR_FILENO && has_errors ? i : null, i);
        // To itself as well: that takes away its close-on-exec.
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, listener, 3);
        if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, 4);
        if (error == 0) error = posix_spawn_file_actions_addchdir_np(&actions, "/");
        pid_t child;
        if (error == 0) error = posix_spawn(&child, path, &actions, &attributes, argv, environ);
        if (error == 0) *pid = child;
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int cspawn_is_held(const char *path, int32_t *pid) {
    *pid = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file == -1) return 0;
    struct stat status;
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int is_held = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (status.st_uid == geteuid() || status.st_uid == 0)
        && fcntl(file, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
    if (is_held) *pid = all.l_pid;
    close(file);
    return is_held;
}
