// SPDX-License-Identifier: Apache-2.0
// Starts a command as another user, as init does: posix_spawn(3) has no attribute for that.

#pragma once

// No other system headers: a C struct that two modules define belongs, to Swift, now to the one and
// now to the other.
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
    /// They become the descriptors 0, 1 and 2; no other is inherited.
    int stdio[3];
    /// Whether the process becomes `uid`, `gid` and `groups`; if not, it keeps the caller's.
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
    /// Whether the process is made by a plain fork also without credentials: then `cspawn` never waits.
    bool forks;
    /// Whether it begins in the control group whose folder `group` is a descriptor of.
    bool has_group;
    int group;
};

/// What the child was doing when it failed.
enum cspawn_step {
    /// There is no process.
    cspawn_step_none = 0,
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
    /// The ids are not those asked for, or the process could become root again; `error` is EPERM.
    cspawn_step_verify,
    cspawn_step_directory,
    cspawn_step_exec,
    /// It could not enter its control group.
    cspawn_step_control_group,
    /// Its PAM session could not be opened: `error` is PAM's, and `head` says at which call, and why. 0: the process
    /// that was to open it ended without a word.
    cspawn_step_session_opening,
};

/// The child's report if it could not execute the command.
struct cspawn_report {
    int32_t step;
    /// The errno: that of the last file, or EACCES if one was forbidden. EISDIR if the last file is
    /// a directory.
    int32_t error;
    /// The index in `files` of the one that exists and may be executed, but could not be; -1 for
    /// none.
    int32_t file;
    /// How many bytes of `head` there are.
    int32_t head_count;
    /// The beginning of that file; the kernel looks no further for `#!` (execve(2),
    /// BINPRM_BUF_SIZE).
    char head[256];
};

/// Starts a process; returns 0, or the errno if there is none.
///
/// Without credentials this waits until the command has been executed or has failed, for as long as
/// a file system may take. With credentials it does not wait, and costs a copy of the caller's page
/// tables: see the implementation.
///
/// `status` gets a `cspawn_report` if the command could not be executed, and is closed if it was; it must not block,
/// and is the caller's to close.
int cspawn(const struct cspawn_plan *plan, int status, int32_t *pid);

/// Starts a process as a child of the caller's parent, with the caller's session keyring; returns 0 or the errno.
///
/// It does nothing until a byte comes over `gate`, and gives up if that is closed. `status` is as with `cspawn`.
int cspawn_beside(const struct cspawn_plan *plan, int status, int gate, int32_t *pid);

/// What came of a signal.
enum cspawn_answer {
    /// At least one process of the group has it.
    cspawn_sent = 0,
    /// There are processes, and the user may signal none of them.
    cspawn_refused,
    /// There is no such group.
    cspawn_gone,
    /// No process could be made to send it, or that process ended without an answer.
    cspawn_unknown,
};

/// Sends `signal` to the process group `group` with the rights of the user `uid`, and then SIGCONT
/// unless it was SIGKILL; the caller must be root.
///
/// `or_leader`: if there is no such group, sends to the process of that number, which has not made
/// it yet. A process of its own sends the signal, and this waits for it, a second at most: a
/// process that shares the caller's memory must not become that user, who could look into it, stop
/// it and end it.
enum cspawn_answer cspawn_signal(uint32_t uid, int32_t group, int signal, bool or_leader);

/// Begins what `cspawn_signal` does, and does not wait; returns the process that sends the signal, or -1.
///
/// `members` is the open list of processes of a control group, `cgroup.procs`, which get it too, each once; -1 for
/// none. With one, `group` may be 0 for no process group. The exit status of the process is the answer. The
/// caller reaps it, and ends it if it takes too long.
int32_t cspawn_signal_begin(uint32_t uid, int32_t group, int members, int signal, bool or_leader);

/// Does the same with the caller's own rights, and itself.
enum cspawn_answer cspawn_signal_all(int32_t group, int members, int signal, bool or_leader);

/// Reads the list of processes of a control group; as many as there is room for.
size_t cspawn_members(int members, int32_t *pids, size_t room);

/// Starts a program that serves the listening socket `listener`, which is its descriptor 3; 0, 1 and 2 are
/// /dev/null, and there are no others. It has a session of its own: a signal of the caller's terminal is not meant
/// for it. Returns 0 or the errno.
int cspawn_program(const char *path, char *const *argv, int listener, int32_t *pid);
