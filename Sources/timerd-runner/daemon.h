// SPDX-License-Identifier: Apache-2.0
// The connection with the daemon: orders in, reports out.

#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Takes daemons from a listening socket, beside the one from the start, in place of any other; returns 0 or the errno.
int listen_to_daemons(int descriptor);

/// Tells the daemon, if one is connected, that a run was not begun, for that errno.
void tell_refusal(uint64_t run, int error);

/// Tells the daemon what there is to tell, as far as it takes it.
void tell_daemon(void);

/// Whether a daemon is connected.
bool has_daemon(void);
