// SPDX-License-Identifier: Apache-2.0
// How a signal reaches all processes of a run.

#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
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

static void count(struct tally *tally, int code) {
    if (code == 0)
        tally->is_sent = true;
    else if (errno == EPERM)
        tally->is_refused = true;
    else if (errno != ESRCH)
        tally->is_unknown = true;
}

// MARK: - The processes of a control group

enum { MEMBERS = 4096, PORTION = 64, PASSES = 8 };

size_t read_members(int file, pid_t *pids, size_t room) {
    char text[4096];
    size_t found = 0;
    pid_t pid = 0;
    ssize_t size;
    if (lseek(file, 0, SEEK_SET) == -1) return 0;
    while ((size = read(file, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < size; i++) {
            if (text[i] != '\n') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            // 0 is a process of another namespace, which has no number here.
            if (pid > 0 && found < room) pids[found++] = pid;
            pid = 0;
        }
    return found;
}

static bool holds(const pid_t *pids, size_t count, pid_t pid) {
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid) return true;
    return false;
}

// Sends to some of the members. A number may have become another's since it was read: it is not, if it is still in
// the list once the process has a descriptor.
//
// Returns to how many of the first ones it has: to fewer where there are no descriptors for more.
static size_t send_to(const pid_t *pids, size_t portion, const struct delivery *delivery, struct tally *tally) {
    static pid_t now[MEMBERS];
    int descriptors[PORTION];
    for (size_t i = 0; i < portion; i++) {
        descriptors[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
        if (descriptors[i] == -1 && lacks_room(errno)) portion = i;
    }
    size_t found = read_members(delivery->members, now, MEMBERS);
    for (size_t i = 0; i < portion; i++) {
        if (descriptors[i] == -1) continue;
        if (holds(now, found, pids[i])) {
            count(tally, (int)syscall(SYS_pidfd_send_signal, descriptors[i], delivery->signal, NULL, 0));
            if (delivery->signal != SIGKILL) syscall(SYS_pidfd_send_signal, descriptors[i], SIGCONT, NULL, 0);
        }
        close(descriptors[i]);
    }
    return portion;
}

// Sends to each member once, also to those that begin meanwhile. `leader` is the process group that has got it.
static void send_to_members(const struct delivery *delivery, pid_t leader, struct tally *tally) {
    static pid_t done[MEMBERS], pids[MEMBERS];
    size_t done_count = 0, fresh = 1;
    for (int pass = 0; pass < PASSES && fresh > 0 && done_count < MEMBERS; pass++) {
        size_t found = read_members(delivery->members, pids, MEMBERS), portion = 0;
        fresh = 0;
        for (size_t i = 0; i < found && done_count < MEMBERS; i++) {
            if (holds(done, done_count, pids[i])) continue;
            done[done_count++] = pids[i];
            fresh++;
            if (leader == 0 || (pids[i] != leader && getpgid(pids[i]) != leader)) pids[portion++] = pids[i];
        }
        for (size_t i = 0, sent; i < portion; i += sent) {
            sent = send_to(pids + i, portion - i < PORTION ? portion - i : PORTION, delivery, tally);
            if (sent == 0) {
                tally->is_unknown = true;
                return;
            }
        }
    }
}

enum answer deliver(const struct delivery *delivery) {
    struct tally tally = {false, false, false};
    if (delivery->leader > 0) {
        int code = kill(-delivery->leader, delivery->signal);
        if (code == -1 && errno == ESRCH && delivery->or_leader) code = kill(delivery->leader, delivery->signal);
        count(&tally, code);
        // A stopped process heeds no other signal until it is continued.
        if (delivery->signal != SIGKILL) kill(-delivery->leader, SIGCONT);
    }
    if (delivery->members != -1) send_to_members(delivery, delivery->leader, &tally);
    return tally.is_sent      ? answer_sent
           : tally.is_refused ? answer_refused
           : tally.is_unknown ? answer_unknown
                              : answer_gone;
}
