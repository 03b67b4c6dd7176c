// SPDX-License-Identifier: Apache-2.0
// Signals with the rights of a user: a process of its own sends each. One that shares the runner's memory must not
// become that user, who could look into it, stop it and end it.

#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// What a signal takes on a machine that is busy or out of memory; in microseconds.
enum { ERRAND_TIME = 5000000 };

// A uid that nobody has, for the real and saved uid of the process that sends a signal. A user may signal a process
// whose real or saved uid is the user's (kill(2)), and so can neither stop nor end this one. For what the process itself
// may signal, its effective uid counts like a real one.
static const uid_t STRANGER = UINT32_MAX - 1;

// Processes that send a signal as a run's owner.
static struct errand {
    pid_t pid;
    uint64_t run;
    int ending;
    // A process that does not end is ended: its user may have stopped it, where a namespace has no strangers.
    struct alarm alarm;
} errands[ERRAND_LIMIT];
static size_t errand_count;
// Whether processes are to be reaped as soon as no signal is on its way: until then none is sent, so that whoever has
// many sent does not keep the runs of others from ending.
static bool is_reaping_due;

static void end_errand(struct alarm *alarm) {
    struct errand *errand = OWNER_OF(alarm, struct errand, alarm);
    kill(errand->pid, SIGKILL);
}

bool reap_errands(void) {
    for (size_t i = 0; i < ERRAND_LIMIT && errand_count > 0; i++) {
        int status;
        if (errands[i].pid == 0 || waitpid(errands[i].pid, &status, WNOHANG) <= 0) continue;
        errands[i].pid = 0;
        errand_count--;
        alarm_clear(&errands[i].alarm);
        take_answer(errands[i].run, errands[i].ending, WIFEXITED(status) ? WEXITSTATUS(status) : answer_unknown);
    }
    is_reaping_due = errand_count > 0;
    return is_reaping_due;
}

// Is the process, a copy with one thread, as the runner has: bare system calls change the ids of this one.
static _Noreturn void run_errand(uid_t uid, const struct delivery *delivery) {
    uid_t real, effective, saved;
    // A user namespace may not have this uid: then the process becomes the user altogether.
    if (syscall(SYS_setresuid, STRANGER, uid, STRANGER) == -1 && syscall(SYS_setresuid, uid, uid, uid) == -1)
        _exit(answer_unknown);
    // As in `become`: a uid of -1 means "unchanged", and capabilities may be kept.
    if (getresuid(&real, &effective, &saved) == -1 || effective != uid || real == 0 || saved == 0 ||
        syscall(SYS_setuid, 0) == 0)
        _exit(answer_unknown);
    // As in `become`, for where it has become the user altogether: its memory is a copy of the runner's.
    prctl(PR_SET_DUMPABLE, 0);
    _exit(deliver(delivery));
}

enum sending begin_errand(const struct run *run, int ending, const struct delivery *delivery, enum answer *answer) {
    if (is_reaping_due) return sending_later;
    struct errand *errand = errands;
    while (errand < errands + ERRAND_LIMIT && errand->pid != 0) errand++;
    if (errand == errands + ERRAND_LIMIT) return sending_later;
    // The user may signal it, where a namespace has no strangers.
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) run_errand(run->owner, delivery);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid == -1 && is_for_now(error)) return sending_later;
    *answer = answer_unknown;
    if (pid == -1) return sending_done;
    errand->pid = pid;
    errand->run = run->id;
    errand->ending = ending;
    errand->alarm.ring = end_errand;
    alarm_set(&errand->alarm, loop_now() + ERRAND_TIME);
    errand_count++;
    return sending_begun;
}
