// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "reports.h"

#include "epoch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// How much of a run's output is told at a time, and at most in one report.
enum { PORTION = 64 << 10, PIECE = 32 << 10 };

static void put_pids(struct buffer *to, const struct run *run) {
    put_u32(to, (uint32_t)run->survivor_count);
    for (size_t i = 0; i < run->survivor_count; i++) put_u32(to, (uint32_t)run->survivors[i]);
}

// Outcomes by the protocol's numbers.
static uint8_t outcome(const struct run *run) {
    if (run->failure_size > 0) return 3;
    if (run->is_interrupted) return 4;
    if (run->is_timed_out) return 2;
    return (run->wait_status & 0x7f) == 0 ? 0 : 1;
}

static bool put_end(struct buffer *to, const struct run *run) {
    size_t start = begin_frame(to, report_ended, 128 + 4 * SURVIVOR_LIMIT + sizeof run->failure);
    if (start == SIZE_MAX) return false;
    put_u64(to, run->id);
    put_u8(to, outcome(run));
    int status = run->wait_status;
    put_u32(to, (uint32_t)((status & 0x7f) == 0 ? status >> 8 & 0xff : status & 0x7f));
    put_u64(to, (uint64_t)run->started_at);
    put_u64(to, (uint64_t)run->ended_at);
    put_u64(to, run->user_time);
    put_u64(to, run->system_time);
    put_u64(to, run->peak_memory);
    put_u64(to, output_end(&run->output, 0));
    put_u64(to, output_end(&run->output, 1));
    put_pids(to, run);
    put_bytes(to, run->failure, (uint32_t)run->failure_size);
    put_u8(to, run->is_out_of_memory);
    end_frame(to, start);
    return true;
}

// A portion of what it has written, in the order in which it came. Once there is no more, that is no news.
static bool put_output(struct buffer *to, struct run *run) {
    static uint8_t bytes[PIECE];
    struct piece piece;
    for (size_t done = 0; done < PORTION; done += piece.count) {
        if (!output_next(&run->output, &piece, bytes, sizeof bytes)) {
            run->news &= ~(unsigned)news_output;
            return true;
        }
        size_t start = begin_frame(to, report_output, 32 + piece.count);
        if (start == SIZE_MAX) return false;
        put_u64(to, run->id);
        put_u8(to, (uint8_t)piece.stream);
        put_u64(to, (uint64_t)piece.at);
        put_u64(to, piece.position);
        put_bytes(to, bytes, (uint32_t)piece.count);
        end_frame(to, start);
        output_told(&run->output, &piece);
    }
    return true;
}

// A report of a run that says no more than its number and the like.
static bool put_short(struct buffer *to, const struct run *run, enum report report) {
    size_t start = begin_frame(to, report, 64 + 4 * SURVIVOR_LIMIT);
    if (start == SIZE_MAX) return false;
    put_u64(to, run->id);
    switch (report) {
    case report_known: put_u8(to, (uint8_t)run->phase); break;
    case report_signalled: put_u8(to, (uint8_t)run->answer); break;
    case report_outlasted: put_pids(to, run); break;
    default: break;
    }
    if (report == report_known || report == report_started) {
        put_u32(to, (uint32_t)run->pid);
        put_u64(to, (uint64_t)run->started_at);
    }
    if (report == report_known) {
        put_u32(to, run->kept);
        put_u64(to, run->passed[0]);
        put_u64(to, run->passed[1]);
    }
    end_frame(to, start);
    return true;
}

bool put_kept(struct buffer *to, const struct run *run) { return put_short(to, run, report_known) && put_end(to, run); }

static const struct {
    enum news news;
    enum report report;
} short_reports[] = {
    {news_started, report_started},
    {news_signalled, report_signalled},
    {news_outlasted, report_outlasted},
};

static bool put_each(struct buffer *to, struct run *run) {
    for (size_t i = 0; i < sizeof short_reports / sizeof *short_reports; i++) {
        if (!(run->news & short_reports[i].news)) continue;
        if (!put_short(to, run, short_reports[i].report)) return false;
        run->news &= ~(unsigned)short_reports[i].news;
    }
    if (run->news & news_output && !put_output(to, run)) return false;
    // The end comes after all of the output.
    if ((run->news & (news_output | news_ended)) != news_ended) return true;
    if (!put_end(to, run)) return false;
    run->news &= ~(unsigned)news_ended;
    return true;
}

bool put_news(struct buffer *to, struct run *run) {
    bool is_put = put_each(to, run);
    if (run->news != 0) tell(run, 0);
    return is_put;
}

// MARK: - Answers

bool put_refusal(struct buffer *to, uint64_t run, int error) {
    size_t start = begin_frame(to, report_refused, 12);
    if (start == SIZE_MAX) return false;
    put_u64(to, run);
    put_u32(to, (uint32_t)error);
    end_frame(to, start);
    return true;
}

bool put_answer(struct buffer *to, uint64_t run, enum answer answer) {
    size_t start = begin_frame(to, report_signalled, 9);
    if (start == SIZE_MAX) return false;
    put_u64(to, run);
    put_u8(to, (uint8_t)answer);
    end_frame(to, start);
    return true;
}

bool put_pong(struct buffer *to) {
    size_t start = begin_frame(to, report_pong, 0);
    if (start == SIZE_MAX) return false;
    end_frame(to, start);
    return true;
}

// MARK: - The greeting

static bool put_welcome(struct buffer *to) {
    size_t start = begin_frame(to, report_welcome, 40 + sizeof RELEASE);
    if (start == SIZE_MAX) return false;
    put_u32(to, PROTOCOL_VERSION);
    put_u64(to, epoch());
    put_u32(to, (uint32_t)getpid());
    put_u32(to, (uint32_t)run_limit);
    put_u64(to, byte_limit);
    put_bytes(to, RELEASE, sizeof RELEASE);
    end_frame(to, start);
    return true;
}

static bool put_groups(struct buffer *to) {
    uint32_t count = (uint32_t)strlen(groups_lack);
    size_t start = begin_frame(to, report_groups, 6 + count);
    if (start == SIZE_MAX) return false;
    put_u8(to, has_groups);
    put_u8(to, (uint8_t)controllers);
    put_bytes(to, groups_lack, count);
    end_frame(to, start);
    return true;
}

struct list {
    struct buffer *to;
    bool is_complete;
};

static void list_run(struct run *run, void *context) {
    struct list *list = context;
    if (!put_short(list->to, run, report_known)) list->is_complete = false;
    output_restart(&run->output);
    unsigned news = news_output;
    if (run->phase == phase_ended) news |= news_ended;
    // Those that it could not be rid of.
    if (run->phase < phase_surviving && run->survivor_count > 0) news |= news_outlasted;
    tell(run, news);
}

bool put_greeting(struct buffer *to) {
    // What was news while nobody listened is known by this greeting; an answer to the daemon before is nobody's.
    forget_news();
    struct list list = {to, put_welcome(to) && put_groups(to)};
    for_each_run(list_run, &list);
    size_t start = begin_frame(to, report_synced, 0);
    if (start == SIZE_MAX || !list.is_complete) return false;
    end_frame(to, start);
    return true;
}
