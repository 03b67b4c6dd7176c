// SPDX-License-Identifier: Apache-2.0
// Starts a command as somebody else, as init does: what posix_spawn(3) has no attribute for.

#pragma once

// No headers of the system's beyond these: a C struct that two modules define is, to Swift, now one
// module's and now the other's.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What the new process is to be. Nothing here is kept after `cspawn` returns.
struct cspawn_plan {
    /// Files to execute, tried in this order as execvp(3) does; ends with NULL.
    char *const *files;
    char *const *argv;
    char *const *envp;
    /// Entered as the user that the process becomes.
    const char *directory;
    /// What become the descriptors 0, 1 and 2; no other is inherited.
    int stdio[3];
    /// Whether the process becomes `uid`, `gid` and `groups`; else it stays who the caller is.
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
};

/// What the child was doing when it failed.
enum cspawn_step {
    cspawn_step_session = 1,
    cspawn_step_descriptors,
    /// It could not get a session keyring of its own.
    cspawn_step_keyring,
    cspawn_step_memory,
    cspawn_step_cpu,
    cspawn_step_nice,
    cspawn_step_groups,
    cspawn_step_gid,
    cspawn_step_uid,
    /// The ids are not what was asked for, or root's could be had again; `error` is EPERM.
    cspawn_step_verify,
    cspawn_step_directory,
    cspawn_step_exec,
};

/// What the child says where it could not execute the command.
struct cspawn_report {
    int32_t step;
    /// The errno; for several files that of the last, or EACCES where one was forbidden. EISDIR
    /// where a directory was to be executed.
    int32_t error;
    /// Which of `files` is there, may be executed and could not be; -1 for none.
    int32_t file;
    /// How many bytes of `head` there are.
    int32_t head_count;
    /// How that file begins; the kernel looks no further for `#!` (execve(2), BINPRM_BUF_SIZE).
    char head[256];
};

/// A process that was started, or is about to fail and say why.
struct cspawn_process {
    int32_t pid;
    int pidfd;
    /// Has a `cspawn_report` to read if the command was not executed, and ends if it was; does not
    /// block.
    int status;
};

/// Starts a process; 0, or the errno that kept it from existing.
///
/// Without credentials this waits until the command is executed or has failed to be, for as long as
/// a file system may take. With credentials it does not wait, and costs a copy of the caller's page
/// tables: see the implementation.
int cspawn(const struct cspawn_plan *plan, struct cspawn_process *process);

/// What came of a signal.
enum cspawn_answer {
    /// At least one process of the group has it.
    cspawn_sent = 0,
    /// There are processes, and the user may signal none of them.
    cspawn_refused,
    /// There is no such group.
    cspawn_gone,
    /// There was nobody to send it, or he did not get to say what came of it.
    cspawn_unknown,
};

/// Sends `signal` to the process group `group` with the rights of the user `uid`, and SIGCONT after
/// it, but after SIGKILL; the caller is root.
///
/// `or_leader`: where there is no such group, to the process of that number, which has yet to make
/// it. Waits for a process of its own, a second at most: what shares the caller's memory is not to
/// be that user, who may look into what is his, stop and end it.
enum cspawn_answer cspawn_signal(uint32_t uid, int32_t group, int signal, bool or_leader);
