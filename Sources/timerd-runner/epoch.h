// SPDX-License-Identifier: Apache-2.0
// Which runners count as one.

#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Takes the epoch that the runner before in its place has handed on, or else a number that no other runner has; 0 or the errno.
///
/// `ends`: those that were kept and are known, by `take_ends`. An epoch that was handed on with others does not count.
int take_epoch(uint64_t ends);

/// From 1 to 2⁶³ - 1.
uint64_t epoch(void);

/// Has the next runner of the socket take this one's epoch: by a runner that takes nothing more, and has nothing left but
/// `ends`, as they were kept; 0 for none.
///
/// Whether it will: without its file it has another epoch, and what this one was never asked for counts as interrupted. Why
/// not is said once; done once, or where nobody can reach the socket any more, it does nothing.
bool hand_epoch_on(uint64_t ends);

/// What tells this boot of the machine from others; empty where that is not known.
const char *this_boot(void);
