// SPDX-License-Identifier: Apache-2.0
// Where daemons find the runner: the path of its socket, which one runner at a time has.

#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/// Takes the path of the listening socket for this runner, as long as it lives; to be called once, and first.
///
/// Whether nobody else has it; `holder` gets who has, below 1 where the kernel has no number for it here. What cannot be locked, as on a file
/// system without locks, is taken all the same.
bool take_place(int listener, pid_t *holder);

/// Gives it up, of a runner that ends: before its socket closes, so that a daemon that finds nobody there may start the next.
void leave_place(void);

/// The path; empty where the socket has none.
const char *place_path(void);

/// Whether a runner of this user's may have left a file of that kind beside the socket, of `most` bytes at most. What else is there is not
/// for a runner to read or remove.
bool is_of_runner(const struct stat *status, off_t most);

/// Has the socket's file made anew where somebody removes it: runs may go on, of which no daemon would hear.
void watch_place(void);

/// Makes the file anew if it has been removed, also where that was not told; tries again until it can.
void keep_place(void);

/// Whether its socket's file has been gone for a day, and could not be made anew: its folder is gone, too.
bool is_given_up(void);

/// Whether no runner follows this one in its place: its socket is gone, or another runner's is there.
bool is_deserted(void);

/// Whether another's is in its place, so that it cannot come back.
bool is_displaced(void);

/// Whether what lies beside the socket is another runner's: one may live there whose runs this one does not know.
///
/// Not where this one still has the lock, though it is displaced: systemd, say, has put a socket of its own there, on which no
/// runner begins before this one has ended.
bool is_superseded(void);
