// SPDX-License-Identifier: Apache-2.0
// Starts a command as another user, as init does: posix_spawn(3) has no attribute for that.

#pragma once

#include "CSpawn.h"
#include "secrets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// How many variables `completes_environment` adds at most.
enum { LOGIN_VARIABLES = 4 };

/// What the new process is to be. Nothing here is kept after `spawn` returns.
struct plan {
    /// Files to execute, tried in this order as execvp(3) does; ends with NULL.
    char *const *files;
    char *const *argv;
    char **envp;
    /// Whether the process adds what one would have after a login; `envp` has room for `LOGIN_VARIABLES` more.
    bool completes_environment;
    /// Entered as the user that the process becomes.
    const char *directory;
    /// Whether the command begins elsewhere where that cannot be entered.
    bool begins_elsewhere;
    /// Pipes, which become the descriptors 0, 1 and 2, and `uid`'s; no other is inherited.
    int stdio[3];
    /// Whether the process becomes `uid`, `gid` and `groups`; if not, it keeps the runner's.
    bool has_credentials;
    uint32_t uid;
    uint32_t gid;
    const uint32_t *groups;
    size_t group_count;
    bool has_nice;
    int nice;
    /// RLIMIT_AS in bytes and RLIMIT_CPU in seconds; UINT64_MAX for what is inherited.
    uint64_t memory_max;
    uint64_t cpu_time;
    /// RLIMIT_NOFILE, the soft one.
    uint64_t open_files;
    uint32_t umask;
    /// Whether it begins in the control group whose folder `group` is a descriptor of.
    bool has_group;
    int group;
    /// The files that it makes before it becomes the command, and their folder; NULL for none. `secrets_error` is the
    /// errno if that cannot be.
    const char *secrets_folder;
    int secrets_error;
    const struct secret *secrets;
    size_t secret_count;
};

/// Has no signal ignored or handled, as commands are to find them; to be called once, before any is started.
void reset_signals(void);

/// Starts a process, which is a copy of this one until it becomes the command; returns 0 or the errno.
///
/// `status` gets a `cspawn_report` if it could not, and is closed if it could; it must not block, and is the caller's
/// to close.
int spawn(const struct plan *plan, int status, pid_t *pid);

/// Starts a process as a child of the caller's parent, with the caller's session keyring and RLIMIT_NOFILE; returns 0 or
/// the errno.
///
/// It does nothing until a byte comes over `gate`, and gives up if that is closed. `status` is as with `spawn`.
int spawn_beside(const struct plan *plan, int status, int gate, pid_t *pid);
