// SPDX-License-Identifier: Apache-2.0

#include "run.h"

#include <errno.h>
#include <stdlib.h>

// More than the daemon's `maxRuns` can be. Of runs with 64 KiB of each stream the bytes are room for 12,800.
size_t run_limit = 16384;
uint64_t byte_limit = UINT64_C(2) << 30;

static struct run *by_id[BUCKETS], *by_pid[BUCKETS];
static size_t count, living;
static uint64_t reserved_bytes;

static struct run **place_of(uint64_t id) {
    struct run **place = &by_id[id % BUCKETS];
    while (*place && (*place)->id != id) place = &(*place)->next_by_id;
    return place;
}

static struct run **process_place(pid_t pid) {
    struct run **place = &by_pid[(size_t)pid % BUCKETS];
    while (*place && (*place)->pid != pid) place = &(*place)->next_by_pid;
    return place;
}

struct run *find_run(uint64_t id) { return *place_of(id); }

struct run *find_process(pid_t pid) { return *process_place(pid); }

struct run *add_run(uint64_t id, uint64_t reserved, int *error) {
    *error = ENOSPC;
    if (count >= run_limit || reserved > byte_limit - reserved_bytes) return NULL;
    struct run *run = calloc(1, sizeof *run);
    *error = ENOMEM;
    if (!run) return NULL;
    run->id = id;
    run->status.descriptor = run->input.descriptor = -1;
    run->session.descriptor = -1;
    run->streams[0].descriptor = run->streams[1].descriptor = -1;
    run->reserved = reserved;
    reserved_bytes += reserved;
    *place_of(id) = run;
    count++;
    living++;
    return run;
}

void note_end(void) { living--; }

void remove_run(struct run *run) {
    struct run **place = place_of(run->id);
    *place = run->next_by_id;
    reserved_bytes -= run->reserved;
    count--;
    output_free(&run->output);
    free(run->unwritten);
    free(run);
}

void add_process(struct run *run, pid_t pid) {
    run->pid = pid;
    *process_place(pid) = run;
}

void remove_process(struct run *run) {
    *process_place(run->pid) = run->next_by_pid;
    run->next_by_pid = NULL;
}

size_t run_count(void) { return count; }

size_t living_count(void) { return living; }

void for_each_run(void (*body)(struct run *, void *context), void *context) {
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        for (struct run *run = by_id[bucket], *next; run; run = next) {
            next = run->next_by_id;
            body(run, context);
        }
}

// MARK: - News

// A queue, so that each run has its turn.
static struct run *first_news, **last_news = &first_news;

void tell(struct run *run, unsigned news) {
    run->news |= news;
    if (run->is_queued) return;
    run->is_queued = true;
    run->next_news = NULL;
    *last_news = run;
    last_news = &run->next_news;
}

struct run *next_news(void) {
    struct run *run = first_news;
    if (!run) return NULL;
    first_news = run->next_news;
    if (!first_news) last_news = &first_news;
    run->is_queued = false;
    return run;
}

void forget_news(void) {
    for (struct run *run; (run = next_news());) {
        run->news = 0;
        if (run->is_stored) remove_run(run);
    }
}
