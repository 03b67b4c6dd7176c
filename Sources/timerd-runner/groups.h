// SPDX-License-Identifier: Apache-2.0
// Control groups (cgroup v2): one for each run, all below a folder of this runner's own.
//
//     OWN                          the runner's control group when it began, which is delegated to it
//     OWN/timerd-KEY-RANDOM        the folder of this runner
//     OWN/timerd-KEY-RANDOM/runner the runner itself: a group with controllers has no processes of its own
//     OWN/timerd-KEY-RANDOM/sessions  the processes that hold PAM sessions open
//     OWN/timerd-KEY-RANDOM/run-7  a run

#pragma once

#include "loop.h"

#include <dirent.h>
#include <sys/types.h>

struct run;

/// How deep within a run's group its processes are looked for; `cgroup.kill` ends those that are deeper.
enum { GROUP_DEPTH = 8 };

/// What a run may use altogether.
struct limits {
    /// In bytes, and in threads; UINT64_MAX for no limit.
    uint64_t memory_max, memory_high, tasks_max;
    /// 1 to 10000, and percent of one processor; 0 for none.
    uint32_t cpu_weight, cpu_quota, io_weight;
};

/// What the groups of runs have, by the protocol's numbers.
enum controller { controller_memory = 1, controller_cpu = 2, controller_pids = 4, controller_io = 8 };

/// Whether runs have groups, and what these limit.
extern bool has_groups;
extern unsigned controllers;
/// Why there are no groups, or what they do not limit; empty where nothing is missing.
extern char groups_lack[512];

/// The group of a run.
struct group {
    /// Its `cgroup.events`, while it is waited until the group is empty.
    struct source events;
    /// Whose it is; NULL once the run has ended without it.
    struct run *run;
    /// How often it could not be removed since, though it was empty.
    int removals;
    /// Below the runner's folder, or, of what another runner left, beside it.
    char name[64];
    bool is_beside;
};

// MARK: - The runner's folder (folder.c)

/// Finds out whether there may be groups, and makes the folder. What an earlier runner with that key has left
/// running is ended.
void groups_open(uint64_t key);

/// Moves the caller out of the runner's group, which is to be empty once the runner is gone, into that of sessions.
void enter_sessions(void);

/// Removes the folder, as far as it can be.
void groups_close(void);

/// Where groups are: a descriptor of the runner's folder, or of the one around it.
int groups_place(bool is_beside);

/// Writes a short text to a file; returns 0 or the errno.
int write_file(int folder, const char *path, const char *text);

/// Reads a short file, up to `room` - 1 bytes, and ends them with NUL; -1 if it cannot be read.
ssize_t read_file(int folder, const char *path, char *text, size_t room);

/// Removes a group and those within it, as far as a tenth of a second is enough; whether it is gone.
bool remove_tree(int folder, const char *name);

/// Whether an entry of a group's folder is a group.
bool is_group(const struct dirent *entry);

// MARK: - The group of a run (group.c)

/// Makes the group of a run, and sets its limits; 0, or the errno of what may be there later. Where the run has no
/// group after it, it is to be limited by other means.
///
/// `folder` becomes a descriptor of it, which the caller closes; `limits->memory_max` becomes UINT64_MAX if the
/// group limits that.
int make_group(struct run *run, struct limits *limits, int *folder);

/// Takes what the run has used, and removes its group; false while that has processes.
bool remove_group(struct run *run);

/// Lets go of a group that is not gone: it is removed once its processes have ended, in several turns where much is
/// within it.
void abandon_group(struct run *run);

/// Has the run finished as soon as its group is empty, or an abandoned group removed; false if it cannot be watched.
bool watch_group(struct group *group);

/// Ends all processes of a group, whosever they are; 0 or the errno.
int kill_group(const struct group *group);

/// Whether it has processes.
bool is_populated(const struct group *group);

/// Opens it for `each_member`; -1 and an errno.
int open_members(const struct group *group);

/// Calls `visit` with each process of a group that is open, and of those within it, and with `context`; one that goes
/// from one to another may come twice, or not at all. 0, or the errno of what was short: then not all have come.
int each_member(int members, void (*visit)(pid_t pid, void *context), void *context);
