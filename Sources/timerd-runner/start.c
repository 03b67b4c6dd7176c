// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "run.h"

#include "CSpawn.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { has_credentials = 1, has_nice = 2, has_timeout = 4, has_session = 8, completes_environment = 16 };
// Variables that may be added.
enum { MORE_VARIABLES = 4 };

// What is read of an order to start, besides the run itself.
struct order_start {
    struct cspawn_plan plan;
    struct limits limits;
    uint64_t timeout;
    uint32_t keep;
    struct teardown rules;
    struct span input;
    // Of a PAM session, if there is to be one.
    bool has_session, completes_environment;
    const char *service, *user;
    char **files, **argv, **envp;
    uint32_t *groups;
};

static void free_order(struct order_start *order) {
    free(order->files);
    free(order->argv);
    free(order->envp);
    free(order->groups);
}

// A string within the frame, where it ends with a NUL.
static char *take_string(struct reader *frame) {
    struct span span = take_bytes(frame);
    if (frame->failed || span.count == 0 || memchr(span.bytes, 0, span.count) != span.bytes + span.count - 1) {
        frame->failed = true;
        return NULL;
    }
    return (char *)span.bytes;
}

// Pointers to the strings in the frame, and NULL after them.
static char **take_strings(struct reader *frame) {
    uint32_t count = take_u32(frame);
    // Each takes five bytes at least, so that a short frame cannot ask for much memory.
    if (frame->failed || count > (size_t)(frame->end - frame->at) / 5) {
        frame->failed = true;
        return NULL;
    }
    char **strings = calloc(count + 1 + MORE_VARIABLES, sizeof *strings);
    if (!strings) frame->failed = true;
    for (uint32_t i = 0; !frame->failed && i < count; i++) strings[i] = take_string(frame);
    return strings;
}

bool take_teardown(struct reader *frame, struct teardown *teardown) {
    uint32_t count = take_u32(frame);
    if (count < 1 || count > STEP_LIMIT) frame->failed = true;
    for (uint32_t i = 0; !frame->failed && i < count; i++) {
        int32_t signal = (int32_t)take_u32(frame);
        int64_t grace = (int64_t)take_u64(frame);
        if (signal < 1 || signal > 64 || grace < 0 || (i + 1 == count && signal != SIGKILL))
            frame->failed = true;
        teardown->steps[i] = (struct step){signal, grace};
    }
    teardown->count = count;
    return !frame->failed;
}

static void take_groups(struct reader *frame, struct order_start *order) {
    uint32_t count = take_u32(frame);
    if (count > (size_t)(frame->end - frame->at) / 4) frame->failed = true;
    if (frame->failed) return;
    order->groups = calloc(count + 1, sizeof *order->groups);
    if (!order->groups) frame->failed = true;
    for (uint32_t i = 0; !frame->failed && i < count; i++) order->groups[i] = take_u32(frame);
    order->plan.groups = order->groups;
    order->plan.group_count = count;
}

static bool take_order(struct reader *frame, struct order_start *order) {
    struct cspawn_plan *plan = &order->plan;
    uint8_t flags = take_u8(frame);
    plan->has_credentials = flags & has_credentials;
    plan->has_nice = flags & has_nice;
    order->has_session = flags & has_session;
    order->completes_environment = flags & completes_environment;
    plan->uid = take_u32(frame);
    plan->gid = take_u32(frame);
    take_groups(frame, order);
    plan->nice = (int32_t)take_u32(frame);
    order->limits.memory_max = take_u64(frame);
    plan->cpu_time = take_u64(frame);
    plan->open_files = take_u64(frame);
    order->limits.memory_high = take_u64(frame);
    order->limits.tasks_max = take_u64(frame);
    order->limits.cpu_weight = take_u32(frame);
    order->limits.cpu_quota = take_u32(frame);
    order->limits.io_weight = take_u32(frame);
    plan->umask = take_u32(frame);
    order->timeout = take_u64(frame);
    if (!(flags & has_timeout)) order->timeout = UINT64_MAX;
    order->keep = take_u32(frame);
    take_teardown(frame, &order->rules);
    plan->directory = take_string(frame);
    plan->files = order->files = take_strings(frame);
    plan->argv = order->argv = take_strings(frame);
    plan->envp = order->envp = take_strings(frame);
    order->input = take_bytes(frame);
    if (order->has_session) {
        order->service = take_string(frame);
        order->user = take_string(frame);
    }
    return is_read(frame) && order->files[0] && order->argv[0];
}

// The three pipes; ours do not block.
struct pipes {
    int command[3], own[3];
};

static void close_all(const int *descriptors) {
    for (int i = 0; i < 3; i++)
        if (descriptors[i] != -1) close(descriptors[i]);
}

static int open_pipes(struct pipes *pipes) {
    *pipes = (struct pipes){{-1, -1, -1}, {-1, -1, -1}};
    for (int i = 0; i < 3; i++) {
        int ends[2];
        // Its input is what the command reads from the pipe.
        int command = i == 0 ? 0 : 1;
        if (pipe2(ends, O_CLOEXEC) == -1) return errno;
        pipes->command[i] = ends[command];
        pipes->own[i] = ends[1 - command];
        if (fcntl(pipes->own[i], F_SETFL, O_NONBLOCK) == -1) return errno;
    }
    return 0;
}

static int64_t peak_memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

// Makes the process, or that of a session, which makes it; 0 or the errno.
static int begin(struct run *run, struct order_start *order, const struct pipes *pipes) {
    struct cspawn_process process;
    int error, ends[2] = {-1, -1};
    if (order->has_session && order->plan.has_credentials) {
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) return errno;
        error = open_session(run, &order->plan, ends[1], order->service, order->user);
        close(ends[1]);
        process.status = ends[0];
        if (error != 0) close(ends[0]);
    } else {
        if (order->completes_environment) {
            size_t room = MORE_VARIABLES + 1;
            for (char **variable = order->envp; *variable; variable++) room++;
            complete_environment(order->envp, room, order->plan.has_credentials ? order->plan.uid : geteuid());
        }
        error = cspawn(&order->plan, &process);
        if (error == 0) {
            close(process.pidfd);
            add_process(run, process.pid);
        }
    }
    if (error != 0) return error;
    run->status.descriptor = process.status;
    run->input.descriptor = pipes->own[0];
    run->streams[0].descriptor = pipes->own[1];
    run->streams[1].descriptor = pipes->own[2];
    return 0;
}

// Makes the process; 0 or the errno, if there is none.
static int spawn(struct run *run, struct order_start *order) {
    struct pipes pipes;
    int error = open_pipes(&pipes);
    if (error == 0) {
        memcpy(order->plan.stdio, pipes.command, sizeof pipes.command);
        order->plan.has_group = make_group(run, &order->limits, &order->plan.group);
        // Of each process, where nothing limits all of them together.
        order->plan.memory_max = order->limits.memory_max;
        run->peak_before = (uint64_t)peak_memory();
        run->started_at = wall_now();
        error = begin(run, order, &pipes);
        if (order->plan.has_group) close(order->plan.group);
    }
    close_all(pipes.command);
    if (error != 0) close_all(pipes.own);
    return error;
}

static bool keep_input(struct run *run, struct span input) {
    if (input.count == 0) return true;
    run->unwritten = malloc(input.count);
    if (!run->unwritten) return false;
    memcpy(run->unwritten, input.bytes, input.count);
    run->input_size = input.count;
    return true;
}

// The run ends before it has a process: as if the process had said why.
static void refuse(struct run *run, int error) {
    struct cspawn_report report = {.step = cspawn_step_none, .error = error, .file = -1};
    memcpy(run->failure, &report, sizeof report);
    run->failure_size = sizeof report;
    run->started_at = run->ended_at = wall_now();
    finish(run);
}

static void ring_timeout(struct alarm *alarm) {
    struct run *run = (struct run *)((char *)alarm - offsetof(struct run, timeout));
    run->is_timed_out = true;
    end_run(run, &run->rules, cause_timeout, false);
}

int start_run(struct reader *frame, uint64_t *id) {
    *id = take_u64(frame);
    if (find_run(*id)) return EEXIST;
    struct order_start order = {.plan = {.forks = true}};
    int error = EPROTO;
    if (take_order(frame, &order)) {
        uint64_t reserved = sizeof(struct run) + 2 * (uint64_t)order.keep + order.input.count;
        struct run *run = add_run(*id, reserved, &error);
        if (run) {
            run->rules = order.rules;
            run->has_owner = order.plan.has_credentials && geteuid() == 0 && order.plan.uid != 0;
            run->owner = order.plan.uid;
            run->rings[0].limit = run->rings[1].limit = order.keep;
            run->timeout.ring = ring_timeout;
            error = keep_input(run, order.input) ? spawn(run, &order) : ENOMEM;
            if (error == 0) error = watch_run(run);
            if (error == 0 && order.timeout != UINT64_MAX)
                error = alarm_set(&run->timeout, loop_after(order.timeout));
            // A process that cannot be watched is ended, and its end is the run's.
            pid_t process = run->pid != 0 ? run->pid : run->session_process;
            if (error != 0 && process != 0) kill(process, SIGKILL);
            if (error != 0 && process == 0) refuse(run, error);
            error = 0;
        }
    }
    free_order(&order);
    return error;
}
