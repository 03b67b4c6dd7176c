// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "session.h"

#include "daemon.h"
#include "run.h"
#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// A module that does not come back, such as one that asks a directory, is waited for no longer, in µs; neither when it
// opens the session nor when it closes it.
enum { PATIENCE = 60000000 };

// Of so many sessions of a user's that are being closed each has that long. Of more the oldest has no longer than this,
// in µs: those that hang are not to be so many that there is no room for others' sessions.
enum { PATIENT = 256, HASTE = 2000000 };

// A process that holds a session open.
struct holder {
    pid_t pid;
    uid_t user;
    bool is_hurried;
    // NULL once the run is over, and the session is being closed.
    struct run *run;
    struct alarm closing;
    LIST_ENTRY(holder) others;
};

static LIST_HEAD(, holder) holders = LIST_HEAD_INITIALIZER(holders);
static size_t holder_count;

// What the session's process says: the command's process, and the memory that it began with.
struct beginning {
    int32_t pid;
    uint64_t peak;
};

bool is_opening(const struct run *run) { return run->is_opening; }

bool has_sessions(void) { return holder_count > 0; }

static void closing_took_long(struct alarm *alarm) {
    kill(OWNER_OF(alarm, struct holder, closing)->pid, SIGKILL);
}

static void hurry_oldest(uid_t user) {
    size_t count = 0;
    struct holder *oldest = NULL, *holder;
    LIST_FOREACH(holder, &holders, others) {
        if (holder->run || holder->user != user || holder->is_hurried) continue;
        count++;
        if (!oldest || holder->closing.due < oldest->closing.due) oldest = holder;
    }
    if (count <= PATIENT) return;
    oldest->is_hurried = true;
    alarm_set(&oldest->closing, oldest->closing.due - PATIENCE + HASTE);
}

void close_session(struct run *run) {
    alarm_clear(&run->opening);
    loop_close(&run->session);
    struct holder *holder = run->holder;
    if (!holder) return;
    run->holder = NULL;
    holder->run = NULL;
    holder->closing.ring = closing_took_long;
    alarm_set(&holder->closing, loop_now() + PATIENCE);
    hurry_oldest(holder->user);
}

void forget_session(pid_t pid) {
    struct holder *holder;
    LIST_FOREACH(holder, &holders, others)
    if (holder->pid == pid) break;
    if (!holder) return;
    if (holder->run) holder->run->holder = NULL;
    alarm_clear(&holder->closing);
    LIST_REMOVE(holder, others);
    free(holder);
    holder_count--;
}

// MARK: - In the runner

// No command will begin. The session's process has said why, or has ended without a word.
static void fail_opening(struct run *run) {
    struct cspawn_report report = {.step = cspawn_step_session_opening, .error = 0, .file = -1};
    struct cspawn_report told;
    // It was killed for that.
    if (run->is_opened_late)
        report.head_count = snprintf(report.head, sizeof report.head, "it took longer than %d s", PATIENCE / 1000000);
    if (run->status.descriptor != -1 && read(run->status.descriptor, &told, sizeof told) == sizeof told) report = told;
    memcpy(run->failure, &report, sizeof report);
    run->failure_size = sizeof report;
    run->ended_at = wall_now();
    run->is_opening = false;
    close_run(run);
    if (report.step != cspawn_step_none || !is_for_now(report.error)) return finish(run);
    // The session was opened, and there is no room for the command's process.
    tell_refusal(run->id, report.error);
    withdraw(run);
}

static void session_ready(struct source *source) {
    struct run *run = OWNER_OF(source, struct run, session);
    struct beginning beginning;
    ssize_t count = read(source->descriptor, &beginning, sizeof beginning);
    if (count == -1 && (errno == EAGAIN || errno == EINTR)) return;
    if (count != sizeof beginning) {
        // Once the command has begun, the session's process says nothing more: when it ends, the session is closed.
        if (is_opening(run)) return fail_opening(run);
        return close_session(run);
    }
    alarm_clear(&run->opening);
    run->is_opening = false;
    run->peak_before = beginning.peak;
    run->started_at = wall_now();
    count_time(run);
    add_process(run, beginning.pid);
    siginfo_t info;
    bool is_there = waitid(P_PID, (id_t)beginning.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (!is_there) return process_lost(run);
    // The command's process waits for this byte before it does anything. If the byte cannot be sent, for want of memory, the
    // process would wait for ever.
    if (send(source->descriptor, "g", 1, MSG_NOSIGNAL) == -1) kill(run->pid, SIGKILL);
}

static void opening_took_long(struct alarm *alarm) {
    struct run *run = OWNER_OF(alarm, struct run, opening);
    if (!run->holder) return;
    run->is_opened_late = true;
    kill(run->holder->pid, SIGKILL);
}

int open_session(struct run *run, const struct plan *plan, int status, const char *service, const char *user) {
    int ends[2];
    // Counted apart from the runs: sessions that are being closed have no run any more.
    if (holder_count >= run_limit) return EAGAIN;
    struct holder *holder = calloc(1, sizeof *holder);
    if (!holder) return ENOMEM;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == -1) {
        int error = errno;
        free(holder);
        return error;
    }
    run->session = (struct source){ends[0], session_ready};
    int error = loop_watch(&run->session, false);
    pid_t pid = error == 0 ? fork() : -1;
    if (pid == 0) secrets_let_go();
    if (pid == 0) run_session(plan, ends[1], status, service, user);
    if (error == 0 && pid == -1) error = errno;
    close(ends[1]);
    if (error != 0) {
        loop_close(&run->session);
        free(holder);
        return error;
    }
    holder->pid = pid;
    holder->user = plan->uid;
    holder->run = run;
    LIST_INSERT_HEAD(&holders, holder, others);
    holder_count++;
    run->holder = holder;
    run->is_opening = true;
    run->opening.ring = opening_took_long;
    alarm_set(&run->opening, loop_now() + PATIENCE);
    return 0;
}
