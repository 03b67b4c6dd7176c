// SPDX-License-Identifier: Apache-2.0
// What a new process does between the fork and the exec.
//
// It has none of the other threads that a PAM module may have made in its caller, so it makes only system calls, and
// changes ids by bare ones: glibc's functions would ask each thread that it knows of (nptl(7)).

#pragma once

#include "spawn.h"

/// Of each function of it: it is on a stack of its own, and may be anybody, so the address sanitizer looks elsewhere: it
/// would warn at each `_exit`, in a file that this user may not write.
#define IN_CHILD_BEGIN _Pragma("clang attribute push(__attribute__((no_sanitize(\"address\"))), apply_to = function)")
#define IN_CHILD_END _Pragma("clang attribute pop")

/// The descriptor on which it reports, once its descriptors are arranged.
enum { STATUS = 3 };

/// Reports on `status` why there will be no command, and exits.
_Noreturn void give_up(int status, const struct cspawn_report *report);

/// The same on `STATUS`, of a step and its errno.
_Noreturn void fail(enum cspawn_step step, int error);

/// Called before the process becomes its user: makes the folder of the secrets with a file for each, and copies what the
/// runner alone may read.
void begin_secrets(const struct plan *plan);

/// Called after it has become its user: copies the other secrets, read with the rights of who the process is now.
void end_secrets(const struct plan *plan);

/// Called after it has become its user: adds variables that one would have after a login, where the plan says so and has
/// none of these names. LANG and TZ are the runner's own.
void complete_environment(const struct plan *plan);

/// Called after it has become its user: enters the plan's directory or, where the plan says so and that cannot be, its user's
/// home, else `/`, and says so on standard error.
void enter_directory(const struct plan *plan);

/// Becomes the command.
///
/// Runs as the user of the run, so the report tells of files only what that user may see.
_Noreturn void execute(const struct plan *plan);
