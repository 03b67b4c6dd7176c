// SPDX-License-Identifier: Apache-2.0
// Signals to the processes of a run.

#pragma once

#include "run.h"

#include <sys/types.h>

/// A signal, and who gets it.
struct delivery {
    int signal;
    /// The leader of a process group, which gets it at once, and so SIGKILL before it can make more of itself; 0 for none.
    pid_t leader;
    /// Whether the leader gets it alone where there is no such group: it has not made it yet.
    bool or_leader;
    /// A control group that is open, whose processes get it too, each once; -1 for none.
    int members;
};

/// Sends a signal with the caller's rights, and then SIGCONT unless it was SIGKILL.
enum answer deliver(const struct delivery *delivery);

/// What came of the attempt to send a signal.
enum sending {
    /// There is an answer.
    sending_done,
    /// A process of its own is sending it, and `take_answer` will be called.
    sending_begun,
    /// There is no room for that now.
    sending_later,
};

/// Sends a signal to the processes of a run, for the ending with that number.
enum sending send_signal(struct run *run, int signal, int ending, bool as_runner, enum answer *answer);

/// Has a process send it with the rights of a user who is not root.
enum sending begin_errand(const struct run *run, int ending, const struct delivery *delivery, enum answer *answer);
