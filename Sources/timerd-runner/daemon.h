// SPDX-License-Identifier: Apache-2.0
// The connection with the daemon: orders in, reports out.

#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Takes daemons from the listening socket; returns 0 or the errno.
int listen_to_daemons(int descriptor);

/// Tells the daemon that a run was not begun, for that errno.
void report_refusal(uint64_t run, int error);

/// Tells the daemon what there is to tell, as far as it takes it.
void tell_daemon(void);

/// Whether a daemon is connected.
bool has_daemon(void);

/// Whether a daemon has asked the runner to leave once nothing is left.
extern bool is_to_leave;

/// Refuses runs from now on.
extern bool is_ending;
