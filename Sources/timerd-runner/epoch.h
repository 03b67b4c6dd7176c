// SPDX-License-Identifier: Apache-2.0
// Which runners count as one.

#pragma once

#include <stdint.h>

/// Takes the epoch that the runner before has handed on, or else a number that no other runner has; 0 or the errno.
///
/// `listener`: the socket whose path says where it is handed on.
int take_epoch(int listener);

/// From 1 to 2⁶³ - 1.
uint64_t epoch(void);

/// Has the next runner of the socket take this one's epoch; to be called last, by a runner that has nothing left.
void hand_epoch_on(void);
