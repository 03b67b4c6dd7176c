// SPDX-License-Identifier: Apache-2.0
// What is secret and a run is given as files: the folder that $CREDENTIALS_DIRECTORY names.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// How many a run may have, and their bytes together, as systemd.exec(5) has it.
enum { SECRET_LIMIT = 64, SECRET_BYTES = 1 << 20 };

/// The variable that has the folder.
#define SECRETS_VARIABLE "CREDENTIALS_DIRECTORY"

struct secret {
    /// What is read: with the runner's rights or, once the process has become its user, with those.
    const char *path;
    bool as_runner;
    /// What is made, in the folder.
    const char *copy;
};

/// Removes what runners have left that are gone; to be called once.
void secrets_open(int listener);

/// Removes the runner's own folder, which has none of a run any more, and that of all runners with the last.
void secrets_close(void);

/// A process has been reaped, which may have removed what was left.
void secrets_forget(pid_t pid);

/// Has a forked process that lives on not count as the runner.
void secrets_let_go(void);

/// The path of a run's folder, which is not made yet, in one of the runner's that is; NULL for want of memory.
///
/// `error` gets the errno if that one could not be made.
char *secrets_folder(uint64_t run, int *error);

/// Removes a run's folder with all that is in it.
void secrets_remove(uint64_t run);
