// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "run.h"

#include "CSpawn.h"
#include "secrets.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { has_credentials = 1, has_nice = 2, has_timeout = 4, has_session = 8, completes_environment = 16, has_secrets = 32 };
// Variables that may be added.
enum { MORE_VARIABLES = 5 };

// What is read of an order to start, besides the run itself.
struct order_start {
    struct plan plan;
    // Whether there was no memory to read it.
    bool lacks_memory;
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
    // The names of the secrets, and what is made of them once their folder is known.
    const char *names[SECRET_LIMIT];
    struct secret secrets[SECRET_LIMIT];
    char *secrets_folder, *variable;
};

static void free_order(struct order_start *order) {
    free(order->files);
    free(order->argv);
    free(order->envp);
    free(order->groups);
    for (size_t i = 0; i < order->plan.secret_count; i++) free((char *)order->secrets[i].copy);
    free(order->secrets_folder);
    free(order->variable);
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
static char **take_strings(struct reader *frame, struct order_start *order) {
    uint32_t count = take_u32(frame);
    // Each takes five bytes at least, so that a short frame cannot ask for much memory.
    if (frame->failed || count > (size_t)(frame->end - frame->at) / 5) {
        frame->failed = true;
        return NULL;
    }
    char **strings = calloc(count + 1 + MORE_VARIABLES, sizeof *strings);
    if (!strings) frame->failed = order->lacks_memory = true;
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
    if (!order->groups) frame->failed = order->lacks_memory = true;
    for (uint32_t i = 0; !frame->failed && i < count; i++) order->groups[i] = take_u32(frame);
    order->plan.groups = order->groups;
    order->plan.group_count = count;
}

static void take_secrets(struct reader *frame, struct order_start *order) {
    uint32_t count = take_u32(frame);
    if (count == 0 || count > SECRET_LIMIT) frame->failed = true;
    for (uint32_t i = 0; !frame->failed && i < count; i++) {
        order->names[i] = take_string(frame);
        order->secrets[i].path = take_string(frame);
        order->secrets[i].as_runner = take_u8(frame);
        // A name of another file would be made with the runner's rights.
        const char *name = order->names[i];
        if (!frame->failed && (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")))
            frame->failed = true;
    }
    if (!frame->failed) order->plan.secret_count = count;
}

// 0, or EPROTO or ENOMEM.
static int take_order(struct reader *frame, struct order_start *order) {
    struct plan *plan = &order->plan;
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
    plan->files = order->files = take_strings(frame, order);
    plan->argv = order->argv = take_strings(frame, order);
    plan->envp = order->envp = take_strings(frame, order);
    order->input = take_bytes(frame);
    if (order->has_session) {
        order->service = take_string(frame);
        order->user = take_string(frame);
    }
    if (flags & has_secrets) take_secrets(frame, order);
    if (order->lacks_memory) return ENOMEM;
    return is_read(frame) && order->files[0] && order->argv[0] ? 0 : EPROTO;
}

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
    if (order->completes_environment) {
        size_t room = MORE_VARIABLES + 1;
        for (char **variable = order->envp; *variable; variable++) room++;
        complete_environment(order->envp, room, order->plan.has_credentials ? order->plan.uid : geteuid());
    }
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
    if (error == 0 && order->timeout != UINT64_MAX) alarm_set(&run->timeout, loop_after(order->timeout));
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

// MARK: - The order

// The run ends before it has a process: as if the process had said why.
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
    struct run *run = (struct run *)((char *)alarm - offsetof(struct run, timeout));
    run->is_timed_out = true;
    end_run(run, &run->rules, cause_timeout, false);
}

int start_run(struct reader *frame, uint64_t *id) {
    *id = take_u64(frame);
    if (find_run(*id)) return EEXIST;
    struct order_start order = {0};
    int error = take_order(frame, &order);
    uint64_t reserved = sizeof(struct run) + 2 * (uint64_t)order.keep + note_limit(order.keep) * sizeof(struct note)
                        + order.input.count;
    struct run *run = error == 0 ? add_run(*id, reserved, &error) : NULL;
    if (run) {
        run->rules = order.rules;
        run->has_owner = order.plan.has_credentials && geteuid() == 0 && order.plan.uid != 0;
        run->owner = order.plan.uid;
        run->kept = order.keep;
        output_begin(&run->output, order.keep);
        run->timeout.ring = ring_timeout;
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
