// SPDX-License-Identifier: Apache-2.0
// An order to start a run, as it is read.

#pragma once

#include "run.h"
#include "spawn.h"

/// Variables that may be added to those of the order: that of the secrets, and those of a login.
enum { MORE_VARIABLES = 1 + LOGIN_VARIABLES };

/// What is read of an order to start, besides the run itself. Strings lie within the frame.
struct order_start {
    struct plan plan;
    /// Whether there was no memory to read it.
    bool lacks_memory;
    struct limits limits;
    uint64_t timeout;
    /// When it is too late to begin it, in µs of CLOCK_BOOTTIME; INT64_MAX for never.
    int64_t latest;
    uint32_t keep;
    struct teardown rules;
    struct span input;
    /// Of a PAM session, if there is to be one.
    bool has_session;
    const char *service, *user;
    char **files, **argv, **envp;
    uint32_t *groups;
    /// The names of the secrets, and what is made of them once their folder is known.
    const char *names[SECRET_LIMIT];
    struct secret secrets[SECRET_LIMIT];
    char *secrets_folder, *variable;
};

/// Reads an order of which nothing is read but the run's number; 0, or EINVAL or ENOMEM.
int take_order(struct reader *frame, struct order_start *order);

/// Frees what `take_order` and what follows it have made, also after an error.
void free_order(struct order_start *order);
