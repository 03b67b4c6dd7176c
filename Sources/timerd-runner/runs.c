// SPDX-License-Identifier: Apache-2.0

#include "run.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

// More than the daemon's `maxRuns` can be. Of runs with 64 KiB of each stream the bytes are room for 12,800.
size_t run_limit = 16384;
uint64_t byte_limit = UINT64_C(2) << 30;

// Bytes of runs, of which what is freed is worth the look for it.
enum { LEAST_GIVEN_BACK = 4 << 20 };

static struct run *by_id[BUCKETS], *by_pid[BUCKETS];
static size_t count, living;
// Both of what is set aside: now, and at most since memory was given back.
static uint64_t reserved_bytes, most_reserved;
// Those of which there is something to tell, so that each has its turn.
static TAILQ_HEAD(, run) queue = TAILQ_HEAD_INITIALIZER(queue);

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
    if (reserved_bytes > most_reserved) most_reserved = reserved_bytes;
    *place_of(id) = run;
    count++;
    living++;
    return run;
}

void note_end(void) { living--; }

static void leave_news(struct run *run) {
    if (run->is_queued) TAILQ_REMOVE(&queue, run, queued);
    run->is_queued = false;
}

// By itself the allocator gives back what lies behind all that is in use: one run that goes on would have the runner keep
// the memory of all that began before it. Half of the most has gone by then, so that it is looked for seldom.
static void give_memory_back(void) {
    if (most_reserved < LEAST_GIVEN_BACK || reserved_bytes > most_reserved / 2) return;
    most_reserved = reserved_bytes;
    malloc_trim(0);
}

void remove_run(struct run *run) {
    leave_news(run);
    struct run **place = place_of(run->id);
    *place = run->next_by_id;
    reserved_bytes -= run->reserved;
    count--;
    output_free(&run->output);
    free(run->unwritten);
    free(run);
    give_memory_back();
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

void tell(struct run *run, unsigned news) {
    run->news |= news;
    if (!run->is_queued) TAILQ_INSERT_TAIL(&queue, run, queued);
    run->is_queued = true;
}

struct run *next_news(void) {
    struct run *run = TAILQ_FIRST(&queue);
    if (run) leave_news(run);
    return run;
}

void forget_news(void) {
    for (struct run *run; (run = next_news());) run->news = 0;
}
