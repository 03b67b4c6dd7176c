// SPDX-License-Identifier: Apache-2.0
// What a runner that is stopped leaves to the next one: how runs have ended, where no daemon has stored that.

#pragma once

#include "run.h"

/// Takes up the ends that the runner before in its place has kept; to be called before the epoch is taken.
///
/// What tells these ends from all others, for `take_epoch`; 0 where there are none, or not all of them could be taken,
/// which is said.
uint64_t take_ends(void);

/// The end of that run is stored: the file goes with the last of those that were taken from it.
void forget_kept(const struct run *run);

/// Has the next runner of the socket know the ends of all runs there are; all of them have ended.
///
/// Whether it will, also where there are none; if not, that is said. `ends` gets what tells them from all others, for
/// `hand_epoch_on`; 0 for none.
bool keep_ends(uint64_t *ends);
