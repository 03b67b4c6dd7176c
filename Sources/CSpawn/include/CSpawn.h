// SPDX-License-Identifier: Apache-2.0
// What daemon and runner have in common in C: how a runner is started, and what a process reports that could not become
// its command.

#pragma once

// No other system headers: a C struct that two modules define belongs, to Swift, now to the one and
// now to the other.
#include <stdint.h>

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
    /// that was to open it ended without a word, or took too long, which `head` says then.
    cspawn_step_session_opening,
    /// A file for $CREDENTIALS_DIRECTORY could not be read, which `head` has the path of, 256 bytes of it at most. The
    /// error 0: it is no file, or one of /proc; EFBIG: with it there are more bytes than there may be.
    cspawn_step_secret_source,
    /// The file or folder of that path could not be made.
    cspawn_step_secret_copy,
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

/// Starts a program that serves the listening socket `listener`, which is its descriptor 3; 0, 1 and 2 are
/// `null`, /dev/null open for reading and writing, and there are no others; `keeps_errors`: 2 is the caller's, if that is open. It has a
/// session of its own: a signal of the caller's terminal is not meant for it. Returns 0 or the errno.
int cspawn_program(const char *path, char *const *argv, int null, int listener, int keeps_errors, int32_t *pid);

/// Whether what is written to that descriptor is lost: it is /dev/null, or closed.
int cspawn_is_null(int descriptor);

/// Sends a warning of a daemon to the syslog that listens at `path`, in the name of this process, and keeps nothing open.
///
/// Unlike syslog(3) it waits for nobody: where the log takes nothing now, the line is lost. Returns 0 or the errno.
int cspawn_syslog(const char *path, const char *name, const char *text);

/// Whether a process holds the lock of `path`, which a runner has beside its socket as long as it lives; `pid` gets which
/// one, below 1 where the kernel has no number for it here. A file that is not there, or is another user's, is held by nobody.
int cspawn_is_held(const char *path, int32_t *pid);
