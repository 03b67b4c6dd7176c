// SPDX-License-Identifier: Apache-2.0
// The PAM session around a run.

#pragma once

#include "spawn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct run;

/// Begins to open a session for a run, in a process of its own, which then starts the command.
///
/// The command's process is a child of the runner like any other. `status` is what it reports to; it, the plan's
/// descriptors and its group are the caller's to close. PAM's variables count where the plan has none of that name.
/// Returns 0 or the errno.
int open_session(struct run *run, const struct plan *plan, int status, const char *service, const char *user);

/// Is the process of the session, which `open_session` forks: opens it, starts the command, waits for the end of the
/// connection `control`, and closes it. What fails is reported to `status`.
_Noreturn void run_session(const struct plan *plan, int control, int status, const char *service,
                           const char *user);

/// Whether the command's process does not exist yet.
bool is_opening(const struct run *run);

/// Has the session closed, by the process that has opened it.
void close_session(struct run *run);

/// A process has been reaped, which may have held a session.
void forget_session(pid_t pid);

/// Whether sessions are open, or are being closed.
bool has_sessions(void);
