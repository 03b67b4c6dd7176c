// SPDX-License-Identifier: Apache-2.0
// Signals to a run, with the rights of a user.

#define _GNU_SOURCE
#include "CSpawn.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct errand {
    uid_t uid;
    pid_t group;
    int signal;
    bool or_leader;
    // The list of a control group's processes; -1 for none.
    int members;
};

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

size_t cspawn_members(int file, int32_t *pids, size_t room) {
    char text[4096];
    size_t found = 0;
    int32_t pid = 0;
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

static bool holds(const int32_t *pids, size_t count, int32_t pid) {
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid) return true;
    return false;
}

// Sends to some of the members. A number may have become another's since it was read: it is not, if it is still in
// the list once the process has a descriptor.
static void send_to(const int32_t *pids, size_t portion, const struct errand *errand, struct tally *tally) {
    static int32_t now[MEMBERS];
    int descriptors[PORTION];
    for (size_t i = 0; i < portion; i++) descriptors[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
    size_t found = cspawn_members(errand->members, now, MEMBERS);
    for (size_t i = 0; i < portion; i++) {
        if (descriptors[i] == -1) continue;
        if (holds(now, found, pids[i])) {
            count(tally, (int)syscall(SYS_pidfd_send_signal, descriptors[i], errand->signal, NULL, 0));
            if (errand->signal != SIGKILL) syscall(SYS_pidfd_send_signal, descriptors[i], SIGCONT, NULL, 0);
        }
        close(descriptors[i]);
    }
}

// Sends to each member once, also to those that begin meanwhile. `leader` is the process group that has got it.
static void send_to_members(const struct errand *errand, pid_t leader, struct tally *tally) {
    static int32_t done[MEMBERS], pids[MEMBERS];
    size_t done_count = 0, fresh = 1;
    for (int pass = 0; pass < PASSES && fresh > 0 && done_count < MEMBERS; pass++) {
        size_t found = cspawn_members(errand->members, pids, MEMBERS), portion = 0;
        fresh = 0;
        for (size_t i = 0; i < found && done_count < MEMBERS; i++) {
            if (holds(done, done_count, pids[i])) continue;
            done[done_count++] = pids[i];
            fresh++;
            if (leader == 0 || (pids[i] != leader && getpgid(pids[i]) != leader)) pids[portion++] = pids[i];
        }
        for (size_t i = 0; i < portion; i += PORTION)
            send_to(pids + i, portion - i < PORTION ? portion - i : PORTION, errand, tally);
    }
}

// Sends to the process group, to the control group, or to both. Makes only system calls.
static enum cspawn_answer send_all(const struct errand *errand) {
    struct tally tally = {false, false, false};
    if (errand->group > 0) {
        int code = kill(-errand->group, errand->signal);
        if (code == -1 && errno == ESRCH && errand->or_leader) code = kill(errand->group, errand->signal);
        count(&tally, code);
        // A stopped process heeds no other signal until it is continued.
        if (errand->signal != SIGKILL) kill(-errand->group, SIGCONT);
    }
    if (errand->members != -1) send_to_members(errand, errand->group, &tally);
    return tally.is_sent      ? cspawn_sent
           : tally.is_refused ? cspawn_refused
           : tally.is_unknown ? cspawn_unknown
                              : cspawn_gone;
}

enum cspawn_answer cspawn_signal_all(int32_t group, int members, int signal, bool or_leader) {
    return send_all(&(struct errand){0, group, signal, or_leader, members});
}

// MARK: - As a user

// A uid that nobody has, for the real and saved uid of the process that sends a signal. A user may
// signal a process whose real or saved uid is the user's (kill(2)), and so can neither stop nor end
// this one. For what the process itself may signal, its effective uid counts like a real one.
static const uid_t STRANGER = UINT32_MAX - 1;

// Runs in a child that shares nothing with the caller, and makes only system calls, as above.
static int run_errand(void *argument) {
    const struct errand *errand = argument;
    uid_t uid = errand->uid, real, effective, saved;
    // A user namespace may not have this uid: then the child becomes the user altogether.
    if (syscall(SYS_setresuid, STRANGER, uid, STRANGER) == -1 &&
        syscall(SYS_setresuid, uid, uid, uid) == -1)
        _exit(cspawn_unknown);
    // As in `become`: a uid of -1 means "unchanged", and capabilities may be kept.
    if (getresuid(&real, &effective, &saved) == -1 || effective != uid || real == 0 || saved == 0 ||
        syscall(SYS_setuid, 0) == 0)
        _exit(cspawn_unknown);
    _exit(send_all(errand));
}

// Starts the process that sends a signal, with a pidfd for it; returns its number or -1.
static pid_t begin_errand(struct errand errand, int *descriptor) {
    // 0 and 1 would be the caller's own group and everybody: kill(2).
    if (errand.uid == 0 || errand.uid == UINT32_MAX || errand.group == 1 || errand.group < 0) return -1;
    if (errand.group == 0 && errand.members == -1) return -1;
    uint64_t all = ~UINT64_C(0), before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    char stack[32768] __attribute__((aligned(16)));
    pid_t pid = clone(run_errand, stack + sizeof stack, SIGCHLD | CLONE_PIDFD, &errand, descriptor);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    return pid;
}

int32_t cspawn_signal_begin(uint32_t uid, int32_t group, int members, int signal, bool or_leader) {
    int descriptor;
    pid_t pid = begin_errand((struct errand){uid, group, signal, or_leader, members}, &descriptor);
    if (pid != -1) close(descriptor);
    return pid;
}

enum cspawn_answer cspawn_signal(uint32_t uid, int32_t group, int signal, bool or_leader) {
    int descriptor;
    if (group == 0) return cspawn_unknown;
    pid_t pid = begin_errand((struct errand){uid, group, signal, or_leader, -1}, &descriptor);
    if (pid == -1) return cspawn_unknown;
    // The child does not block. But its user may stop it, if its real uid is the user's, or lower
    // its priority.
    struct pollfd end = {.fd = descriptor, .events = POLLIN};
    int ended;
    while ((ended = poll(&end, 1, 1000)) == -1 && errno == EINTR)
        ;
    if (ended != 1) kill(pid, SIGKILL);
    close(descriptor);
    int status;
    while (waitpid(pid, &status, 0) == -1)
        if (errno != EINTR) return cspawn_unknown;
    return WIFEXITED(status) ? WEXITSTATUS(status) : cspawn_unknown;
}
