// SPDX-License-Identifier: Apache-2.0
// Which runners count as one.

#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Takes the epoch that the runner before in its place has handed on, or else a number that no other runner has; 0 or the errno.
int take_epoch(void);

/// From 1 to 2⁶³ - 1.
uint64_t epoch(void);

/// Has the next runner of the socket take this one's epoch: by a runner that has nothing left, and takes nothing more.
///
/// Whether it will: without its file it has another epoch, and what this one was never asked for counts as interrupted. Why
/// not is said once; done once, or where nobody can reach the socket any more, it does nothing.
bool hand_epoch_on(void);
