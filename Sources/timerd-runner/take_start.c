// SPDX-License-Identifier: Apache-2.0

#include "start.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    has_credentials = 1,
    has_nice = 2,
    has_timeout = 4,
    has_session = 8,
    completes_environment = 16,
    has_secrets = 32,
    has_latest = 64,
    begins_elsewhere = 128,
};

void free_order(struct order_start *order) {
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
        teardown->steps[i] = (struct step){.signal = signal, .grace = grace};
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

int take_order(struct reader *frame, struct order_start *order) {
    struct plan *plan = &order->plan;
    uint8_t flags = take_u8(frame);
    plan->has_credentials = flags & has_credentials;
    plan->has_nice = flags & has_nice;
    order->has_session = flags & has_session;
    plan->completes_environment = flags & completes_environment;
    plan->begins_elsewhere = flags & begins_elsewhere;
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
    order->latest = flags & has_latest ? (int64_t)take_u64(frame) : INT64_MAX;
    if (order->lacks_memory) return ENOMEM;
    // Without a file to try it ends as where none of them is there.
    return is_read(frame) && order->argv[0] ? 0 : EINVAL;
}
