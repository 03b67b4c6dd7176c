// SPDX-License-Identifier: Apache-2.0
// timerd-runner starts and minds the runs of timerd, and lives on without it.

#define _GNU_SOURCE
#include "daemon.h"
#include "ends.h"
#include "environment.h"
#include "epoch.h"
#include "groups.h"
#include "log.h"
#include "orders.h"
#include "place.h"
#include "reports.h"
#include "run.h"
#include "secrets.h"
#include "session.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

// Where systemd, and the daemon, pass the listening socket: sd_listen_fds(3).
enum { LISTENER = 3 };

// How soon an idle runner that could not hand its epoch on tries again, and how long it waits for its first daemon, in µs.
enum { HAND_ON_AGAIN = 5000000, FIRST_DAEMON = 10000000 };

// The runner's own alarms, beside those of runs and of the processes that send signals: to listen again, to make the socket's
// file anew, to send the signals that wait, and to end while it is idle.
enum { OWN_ALARMS = 4 };

// Whether it ends once no daemon is connected and nothing is left to tell.
static bool ends_when_idle;
// Whether runs are to have no control groups, though there could be.
static bool is_without_groups;

static _Noreturn void fail(const char *what, int error) {
    say("%s: %s", what, strerror(error));
    exit(1);
}

static void signal_ready(struct source *source) {
    struct signalfd_siginfo info;
    while (read(source->descriptor, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD) end_all();
    reap();
}

// Whether the daemon that has started it may still be about to connect. What a killed runner has left may wake it before.
static bool is_awaiting_first;

// `between` does, after each turn.
static void try_again(struct alarm *alarm) {
    (void)alarm;
    is_awaiting_first = false;
}

static struct alarm again = {.ring = try_again};

// Ends a runner that has nothing left, once the next can take its epoch: until then, as while the disk is full, it stays for
// the next daemon. One that makes room for another release is not waited for.
static void end_idle(void) {
    if (hand_epoch_on(0) || is_to_leave) return loop_end();
    alarm_set(&again, loop_now() + HAND_ON_AGAIN);
}

static void between(void) {
    // Before it is told anything, by which it may be lost.
    if (has_daemon()) is_awaiting_first = false;
    tell_daemon();
    // Whoever has started the runner may end what is left of its group with it.
    if (has_sessions()) return;
    bool is_idle = run_count() == 0;
    // Nobody can hear it any more: another waits for it to end, or its folder has gone for good.
    if (living_count() == 0 && !has_daemon() && (is_displaced() || (ends_when_idle && is_given_up()))) loop_end();
    // A stop waits for what ends; whether somebody is there to store how, is another matter.
    if (is_ending && (is_idle || (living_count() == 0 && !has_daemon()))) loop_end();
    if (is_idle && !has_daemon() && !is_awaiting_first && (is_to_leave || ends_when_idle)) end_idle();
}

static void watch_signals(void) {
    static struct source signals;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigset_t blocked = set;
    // A command that has closed its input is to cost its run a write that fails, not all runs their runner; and so is a
    // write beyond ulimit -f. Blocked, and not ignored: what is ignored would be so in commands.
    sigaddset(&blocked, SIGPIPE);
    sigaddset(&blocked, SIGXFSZ);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    // Of SIGCHLD, too: were it ignored, the kernel would throw away how each run ended (wait(2)).
    reset_signals();
    signals = (struct source){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), signal_ready};
    int error = signals.descriptor == -1 ? errno : loop_watch(&signals, false);
    if (error != 0) fail("cannot watch signals", error);
}

// Two in one place would each have runs of which the daemon that speaks with the other knows nothing.
static void take_own_place(void) {
    pid_t holder;
    if (take_place(LISTENER, &holder)) return;
    // It has no number here where it is in another PID namespace, or on another host.
    if (holder < 1)
        say("a process that has no number here goes on as the runner of '%s', and no other begins before its runs have ended",
            place_path());
    else
        say("process %d goes on as the runner of '%s', and no other begins before it has ended: as its runs have, or by 'kill "
            "%d', which ends them",
            (int)holder, place_path(), (int)holder);
    exit(1);
}

// With ListenStream= of a drop-in beside the unit's own systemd has several, of which this is the first (sd_listen_fds(3)).
static void tell_of_other_sockets(void) {
    const char *owner = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (owner == NULL || count == NULL || atol(owner) != getpid() || atol(count) < 2) return;
    say("systemd hands over %ld sockets, and '%s' alone is served: who connects to another waits; an empty 'ListenStream=' "
        "above that of a drop-in takes away the unit's own",
        atol(count), place_path());
}

// Each run takes some. It does not get this limit, but that of its order.
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void check_listener(void) {
    int is_listening = 0;
    socklen_t size = sizeof is_listening;
    if (getsockopt(LISTENER, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == -1 || !is_listening) {
        say("descriptor 3 is no listening socket; timerd and systemd pass one");
        exit(2);
    }
    fcntl(LISTENER, F_SETFD, FD_CLOEXEC);
    fcntl(LISTENER, F_SETFL, O_NONBLOCK);
}

static void read_arguments(int count, char **words) {
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--until-idle") == 0) {
            ends_when_idle = true;
        } else if (strcmp(words[i], "--without-groups") == 0) {
            is_without_groups = true;
        } else if (strcmp(words[i], "--version") == 0) {
            if (printf("timerd-runner " RELEASE ", protocol %d\n", PROTOCOL_VERSION) >= 0 && fflush(stdout) == 0) exit(0);
            fprintf(stderr, "timerd-runner: cannot write to standard output: %s\n", strerror(errno));
            exit(74);
        } else {
            fprintf(stderr, "timerd-runner: unknown argument '%s'; there are --until-idle, --without-groups and --version\n",
                    words[i]);
            exit(64);
        }
    }
}

// Runners that serve different sockets are different daemons'.
static uint64_t key_of_listener(void) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    getsockname(LISTENER, (struct sockaddr *)&address, &size);
    return hash_of(&address, size < sizeof address ? size : sizeof address);
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], WITH_ENVIRONMENT) == 0) run_with_environment(words + 2);
    read_arguments(count, words);
    check_listener();
    take_own_place();
    tell_of_other_sockets();
    raise_descriptor_limit();
    int error = loop_open(run_limit * ALARMS + ERRAND_LIMIT + OWN_ALARMS);
    if (error != 0) fail("cannot wait for events", error);
    watch_signals();
    // What runs leave behind becomes the runner's, which reaps it.
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1) fail("cannot adopt processes", errno);
    if (is_without_groups)
        strcpy(groups_lack, "timerd-runner was started with --without-groups");
    else
        groups_open(key_of_listener());
    secrets_open(LISTENER);
    error = take_epoch(take_ends());
    if (error == 0) error = listen_to_daemons(LISTENER);
    if (error != 0) fail("cannot listen", error);
    watch_place();
    is_awaiting_first = ends_when_idle;
    if (is_awaiting_first) alarm_set(&again, loop_now() + FIRST_DAEMON);
    loop_run(between);
    groups_close();
    secrets_close();
    // None of them lives any more, and nobody is there to store how they ended.
    uint64_t ends;
    if (keep_ends(&ends)) hand_epoch_on(ends);
    leave_place();
    return 0;
}
