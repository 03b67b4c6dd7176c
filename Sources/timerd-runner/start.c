// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "run.h"

#include "CSpawn.h"
#include "session.h"
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// MARK: - Its process

// What starts leave free, for what must go on: a daemon's connection, and files of control groups and /proc, by which
// runs are ended.
enum { SPARE = 16 };

// The command's ends of the pipes: input, output, errors, and what its process reports to.
enum { PIPES = 4, STATUS = 3 };

// Opens the pipes; ours do not block, nor does what the process reports to. 0 or the errno.
static int open_pipes(struct run *run, int *of_command) {
    struct source *own[PIPES] = {&run->input, &run->streams[0], &run->streams[1], &run->status};
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < PIPES; i++) {
        int ends[2];
        // Its input is what the command reads from the pipe.
        int command = i == 0 ? 0 : 1;
        if (pipe2(ends, i == STATUS ? O_CLOEXEC | O_NONBLOCK : O_CLOEXEC) == -1) return errno;
        of_command[i] = ends[command];
        own[i]->descriptor = ends[1 - command];
        if (fcntl(own[i]->descriptor, F_SETFL, O_NONBLOCK) == -1) return errno;
        // The lowest free numbers are taken, so none is free below these.
        if ((rlim_t)ends[0] + SPARE >= limit.rlim_cur || (rlim_t)ends[1] + SPARE >= limit.rlim_cur) return EMFILE;
    }
    return 0;
}

static uint64_t peak_memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

// Says where the secrets are, to the process and in the command's environment; false for want of memory.
static bool place_secrets(struct run *run, struct order_start *order) {
    struct plan *plan = &order->plan;
    if (plan->secret_count == 0) return true;
    plan->secrets_folder = order->secrets_folder = secrets_folder(run->id, &plan->secrets_error);
    if (!order->secrets_folder) return false;
    for (size_t i = 0; i < plan->secret_count; i++) {
        char *copy;
        if (asprintf(&copy, "%s/%s", order->secrets_folder, order->names[i]) == -1) return false;
        order->secrets[i].copy = copy;
    }
    plan->secrets = order->secrets;
    if (asprintf(&order->variable, SECRETS_VARIABLE "=%s", order->secrets_folder) == -1) {
        order->variable = NULL;
        return false;
    }
    // The job's own of that name would be another folder's. There is room for one more, and a NULL behind it.
    char **place = order->envp;
    while (*place && strncmp(*place, SECRETS_VARIABLE "=", sizeof SECRETS_VARIABLE) != 0) place++;
    *place = order->variable;
    run->has_secrets = true;
    return true;
}

// Makes the process, or that of a session, which makes it; 0 or the errno, if there is none.
static int make_process(struct run *run, struct order_start *order, int status) {
    if (order->has_session && order->plan.has_credentials)
        return open_session(run, &order->plan, status, order->service, order->user);
    pid_t pid;
    int error = spawn(&order->plan, status, &pid);
    if (error == 0) add_process(run, pid);
    return error;
}

// Begins a run; 0 or the errno, if there is no process. All that can fail comes before there is one.
static int begin(struct run *run, struct order_start *order) {
    int of_command[PIPES] = {-1, -1, -1, -1};
    int error = open_pipes(run, of_command);
    if (error == 0) error = watch_run(run);
    if (error == 0) error = make_group(run, &order->limits, &order->plan.group);
    if (error == 0) {
        memcpy(order->plan.stdio, of_command, sizeof order->plan.stdio);
        order->plan.has_group = run->group != NULL;
        // Of each process, where nothing limits all of them together.
        order->plan.memory_max = order->limits.memory_max;
        run->peak_before = peak_memory();
        run->started_at = wall_now();
        error = make_process(run, order, of_command[STATUS]);
        if (order->plan.has_group) close(order->plan.group);
    }
    for (int i = 0; i < PIPES; i++)
        if (of_command[i] != -1) close(of_command[i]);
    if (error == 0 && !run->is_opening) count_time(run);
    return error;
}

void count_time(struct run *run) {
    if (run->time_limit != UINT64_MAX) alarm_set(&run->timeout, loop_after(run->time_limit));
}

static bool keep_input(struct run *run, struct span input) {
    if (input.count == 0) return true;
    run->unwritten = malloc(input.count);
    if (!run->unwritten) return false;
    memcpy(run->unwritten, input.bytes, input.count);
    run->input_size = input.count;
    return true;
}

// MARK: - The order

// Ends a run that has no process, with the same report that its process would have sent.
static void refuse(struct run *run, int error) {
    struct cspawn_report report = {.step = cspawn_step_none, .error = error, .file = -1};
    memcpy(run->failure, &report, sizeof report);
    run->failure_size = sizeof report;
    run->started_at = run->ended_at = wall_now();
    close_run(run);
    finish(run);
}

bool is_for_now(int error) { return lacks_room(error) || error == EAGAIN || error == ENOSPC; }

static void ring_timeout(struct alarm *alarm) {
    struct run *run = OWNER_OF(alarm, struct run, timeout);
    // The command has ended by itself, and the runner has not reaped it yet.
    if (has_ended(run)) return;
    run->is_timed_out = true;
    end_command(run, cause_timeout);
}

int start_run(uint64_t id, struct reader *frame) {
    if (find_run(id)) return EEXIST;
    struct order_start order = {0};
    int error = take_order(frame, &order);
    // The order has waited too long: by now the run may begin on another node.
    if (error == 0 && loop_now() > order.latest) error = ETIMEDOUT;
    uint64_t reserved = sizeof(struct run) + 2 * (uint64_t)order.keep + note_limit(order.keep) * sizeof(struct note)
                        + order.input.count;
    struct run *run = error == 0 ? add_run(id, reserved, &error) : NULL;
    if (run) {
        run->rules = order.rules;
        run->has_owner = order.plan.has_credentials && geteuid() == 0 && order.plan.uid != 0;
        run->owner = order.plan.uid;
        run->kept = order.keep;
        output_begin(&run->output, order.keep);
        run->timeout.ring = ring_timeout;
        run->time_limit = order.timeout;
        bool has_memory = keep_input(run, order.input) && place_secrets(run, &order);
        error = has_memory ? begin(run, &order) : ENOMEM;
        if (error != 0 && is_for_now(error)) {
            withdraw(run);
        } else if (error != 0) {
            refuse(run, error);
            error = 0;
        }
    }
    free_order(&order);
    return error;
}
