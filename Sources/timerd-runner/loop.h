// SPDX-License-Identifier: Apache-2.0
// What the runner waits for: descriptors that are ready, and dates. One thread, one epoll.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A descriptor that is watched. It lies within what it belongs to, and does not move while it is watched.
struct source {
    int descriptor;
    void (*ready)(struct source *source);
};

/// A date at which something is called, once. It lies within what it belongs to; all zero is one that is not set.
struct alarm {
    /// By `loop_now`.
    int64_t due;
    void (*ring)(struct alarm *alarm);
    /// Where it stands among those that are set, from 1; 0 if it is not.
    size_t place;
};

/// The struct that has what `pointer` points to as its `member`: handlers of sources and alarms are given no more.
#define OWNER_OF(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/// Opens what the loop needs; returns 0 or the errno. `alarms`: as many can be set at once.
int loop_open(size_t alarms);

/// Calls what is due and ready, until `loop_end`; `between` is called after each turn.
void loop_run(void (*between)(void));

/// Has `loop_run` return after this turn.
void loop_end(void);

/// Watches a descriptor, for input or for room to write; returns 0 or the errno.
int loop_watch(struct source *source, bool for_writing);

/// Watches a file of the kernel that tells of its changes; tells of it once at the beginning. Returns 0 or the errno.
int loop_watch_changes(struct source *source);

/// Ends the watch, if there is one, and closes the descriptor, which is -1 then.
///
/// What the loop has already learnt of it is not told any more.
void loop_close(struct source *source);

/// Ends the watch and leaves the descriptor open.
void loop_forget(struct source *source);

/// Has `alarm->ring` called at `due`, in place of an earlier date.
void alarm_set(struct alarm *alarm, int64_t due);

void alarm_clear(struct alarm *alarm);

/// Whether something failed for want of descriptors or of memory, which may be there later.
bool lacks_room(int error);

/// µs of CLOCK_BOOTTIME, which counts the time that the machine sleeps.
int64_t loop_now(void);

/// The date that lies so many µs ahead of now; the last one there is, if that is beyond it.
int64_t loop_after(uint64_t time);

/// µs since 1970 on the wall clock.
int64_t wall_now(void);
