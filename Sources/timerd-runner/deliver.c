// SPDX-License-Identifier: Apache-2.0
// How a signal reaches all processes of a run.

#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

// What came of the signals to several processes.
struct tally {
    bool is_sent, is_refused, is_unknown;
};

static void tally_up(struct tally *tally, int code) {
    if (code == 0)
        tally->is_sent = true;
    else if (errno == EPERM)
        tally->is_refused = true;
    else if (errno != ESRCH)
        tally->is_unknown = true;
}

// Whether it is one that a stopped process heeds once it is continued, and not before.
static bool may_be_heeded(const struct delivery *delivery) { return delivery->signal != SIGKILL && delivery->signal != 0; }

// MARK: - The processes of a control group

enum { PORTION = 512, PASSES = 8, FIRST_ROOM = 1024 };

// Members by their numbers: the first `done`, in order, have had their turn, and behind them are those found since.
struct found {
    pid_t *pids;
    size_t done, count, room;
    // Not all could be found, or have their turn.
    bool is_cut;
};

static int compare(const void *one, const void *other) {
    pid_t a = *(const pid_t *)one, b = *(const pid_t *)other;
    return (a > b) - (a < b);
}

// Where a number is among those, which are in order; NULL if it is not.
static pid_t *find(pid_t pid, const pid_t *pids, size_t count) {
    return count == 0 ? NULL : bsearch(&pid, pids, count, sizeof pid, compare);
}

static void add(pid_t pid, void *context) {
    struct found *found = context;
    if (find(pid, found->pids, found->done)) return;
    if (found->count == found->room) {
        size_t room = found->room == 0 ? FIRST_ROOM : 2 * found->room;
        pid_t *pids = realloc(found->pids, room * sizeof *pids);
        found->is_cut |= !pids;
        if (!pids) return;
        found->pids = pids;
        found->room = room;
    }
    found->pids[found->count++] = pid;
}

// Puts those found since in order, each once.
static void sort_fresh(struct found *found) {
    qsort(found->pids + found->done, found->count - found->done, sizeof *found->pids, compare);
    size_t count = found->done;
    for (size_t i = found->done; i < found->count; i++)
        if (i == found->done || found->pids[i] != found->pids[i - 1]) found->pids[count++] = found->pids[i];
    found->count = count;
}

// Members that get the signal at once, in order.
struct portion {
    const pid_t *pids;
    size_t count;
    bool is_member[PORTION];
};

static void recognize(pid_t pid, void *context) {
    struct portion *portion = context;
    const pid_t *at = find(pid, portion->pids, portion->count);
    if (at) portion->is_member[at - portion->pids] = true;
}

// Sends to some of the members. A number may have become another's since it was read: it is not, if it is still in
// the list once the process has a descriptor.
//
// False where there is no room for so many at once: none has got it then. What is not in the list becomes 0: should it
// be there again, as it went from one group to another, it is found again.
static bool send_to(pid_t *pids, size_t count, const struct delivery *delivery, struct tally *tally) {
    struct portion portion = {.pids = pids, .count = count};
    int descriptors[PORTION], error = 0;
    size_t opened = 0;
    for (; opened < count && error == 0; opened++) {
        pid_t pid = pids[opened], leader = delivery->leader;
        // What is in the leader's process group has got it.
        bool is_told = leader != 0 && (pid == leader || getpgid(pid) == leader);
        descriptors[opened] = is_told ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
        if (!is_told && descriptors[opened] == -1 && lacks_room(errno)) error = errno;
    }
    if (error == 0) error = each_member(delivery->members, recognize, &portion);
    for (size_t i = 0; i < opened; i++) {
        if (descriptors[i] == -1) continue;
        if (error == 0 && portion.is_member[i]) {
            tally_up(tally, (int)syscall(SYS_pidfd_send_signal, descriptors[i], delivery->signal, NULL, 0));
            if (may_be_heeded(delivery)) syscall(SYS_pidfd_send_signal, descriptors[i], SIGCONT, NULL, 0);
        } else if (error == 0) {
            pids[i] = 0;
        }
        close(descriptors[i]);
    }
    return error == 0;
}

// False where there is no room to send to even one.
static bool send_to_fresh(const struct found *found, const struct delivery *delivery, struct tally *tally) {
    size_t most = PORTION;
    for (size_t i = found->done, count; i < found->count;) {
        count = found->count - i < most ? found->count - i : most;
        if (send_to(found->pids + i, count, delivery, tally))
            i += count;
        else if ((most = count / 2) == 0)
            return false;
    }
    return true;
}

// Looks for members that have not had their turn.
static void find_fresh(const struct delivery *delivery, struct found *found, struct tally *tally) {
    if (each_member(delivery->members, add, found) != 0 || found->is_cut) tally->is_unknown = found->is_cut = true;
    if (found->count > found->done) sort_fresh(found);
}

// Sends to each member that was found once. SIGKILL goes also to those that begin meanwhile.
static void send_to_members(const struct delivery *delivery, struct found *found, struct tally *tally) {
    for (int pass = 1; found->count > found->done; pass++) {
        if (!send_to_fresh(found, delivery, tally)) tally->is_unknown = found->is_cut = true;
        if (found->is_cut || pass == PASSES || (tally->is_sent && delivery->signal != SIGKILL)) break;
        qsort(found->pids, found->count, sizeof *found->pids, compare);
        found->done = found->count;
        find_fresh(delivery, found, tally);
    }
}

static void send_to_process_group(const struct delivery *delivery, struct tally *tally) {
    int code = kill(-delivery->leader, delivery->signal);
    if (code == -1 && errno == ESRCH && delivery->or_leader) code = kill(delivery->leader, delivery->signal);
    tally_up(tally, code);
    if (may_be_heeded(delivery)) kill(-delivery->leader, SIGCONT);
}

enum answer deliver(const struct delivery *delivery) {
    struct tally tally = {false, false, false};
    struct found found = {0};
    bool has_members = delivery->members != -1;
    // Who gets it is found before the first has got it: what begins from then on may be what a trap has begun at it, to clean
    // up. Of SIGKILL there is no trap: it goes to the process group at once, before that can make more of itself.
    if (has_members && delivery->signal != SIGKILL) find_fresh(delivery, &found, &tally);
    if (delivery->leader > 0) send_to_process_group(delivery, &tally);
    if (has_members && delivery->signal == SIGKILL) find_fresh(delivery, &found, &tally);
    if (has_members) send_to_members(delivery, &found, &tally);
    free(found.pids);
    return tally.is_sent      ? answer_sent
           : tally.is_refused ? answer_refused
           : tally.is_unknown ? answer_unknown
                              : answer_gone;
}
