// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "daemon.h"

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

// How soon the listener is watched again after a shortage, in µs.
enum { LISTEN_AGAIN = 1000000 };

// A daemon that does not read takes no more memory than this; what it misses is in the runs' rings.
enum { OUT_LIMIT = 256 << 10, PIECE = 32 << 10 };

bool is_to_leave, is_ending;

static struct source listener, daemon_in = {.descriptor = -1}, daemon_out = {.descriptor = -1};
static uint8_t *incoming;
static size_t incoming_count, incoming_room;
static struct buffer outgoing;
static bool is_greeted, is_waiting;
// While the daemon has not read the answers to its orders, no more of these are read.
static bool is_paused;
static uint64_t epoch;

bool has_daemon(void) { return daemon_in.descriptor != -1; }

static void part(const char *why, int error);

static void say(const char *what, int error) {
    fprintf(stderr, "timerd-runner: %s%s%s\n", what, error ? ": " : "", error ? strerror(error) : "");
}

// MARK: - Reports

void report_refusal(uint64_t run, int error) {
    if (!is_greeted) return;
    size_t start = begin_frame(&outgoing, report_refused, 12);
    // With the connection: the next greeting does not have the run, which says the same.
    if (start == SIZE_MAX) return part("cannot tell the daemon that a run was not begun", ENOMEM);
    put_u64(&outgoing, run);
    put_u32(&outgoing, (uint32_t)error);
    end_frame(&outgoing, start);
}

static void report_pids(struct run *run) {
    put_u32(&outgoing, (uint32_t)run->survivor_count);
    for (size_t i = 0; i < run->survivor_count; i++) put_u32(&outgoing, (uint32_t)run->survivors[i]);
}

// Outcomes by the protocol's numbers.
static uint8_t outcome(const struct run *run) {
    if (run->failure_size > 0) return 3;
    if (run->is_timed_out) return 2;
    return (run->wait_status & 0x7f) == 0 ? 0 : 1;
}

static bool put_end(struct run *run) {
    size_t start = begin_frame(&outgoing, report_ended, 128 + 4 * SURVIVOR_LIMIT + sizeof run->failure);
    if (start == SIZE_MAX) return false;
    put_u64(&outgoing, run->id);
    put_u8(&outgoing, outcome(run));
    int status = run->wait_status;
    put_u32(&outgoing, (uint32_t)((status & 0x7f) == 0 ? status >> 8 & 0xff : status & 0x7f));
    put_u64(&outgoing, (uint64_t)run->started_at);
    put_u64(&outgoing, (uint64_t)run->ended_at);
    put_u64(&outgoing, run->user_time);
    put_u64(&outgoing, run->system_time);
    put_u64(&outgoing, run->peak_memory);
    put_u64(&outgoing, run->rings[0].end);
    put_u64(&outgoing, run->rings[1].end);
    report_pids(run);
    put_bytes(&outgoing, run->failure, (uint32_t)run->failure_size);
    put_u8(&outgoing, run->is_out_of_memory);
    end_frame(&outgoing, start);
    return true;
}

// A piece of one stream; whether there is more.
static bool put_output(struct run *run, int number) {
    static uint8_t piece[PIECE];
    size_t count = ring_copy(&run->rings[number], &run->told[number], piece, sizeof piece);
    if (count == 0) return false;
    size_t start = begin_frame(&outgoing, report_output, 21 + count);
    if (start == SIZE_MAX) return true;
    put_u64(&outgoing, run->id);
    put_u8(&outgoing, (uint8_t)number);
    put_u64(&outgoing, run->told[number]);
    put_bytes(&outgoing, piece, (uint32_t)count);
    end_frame(&outgoing, start);
    run->told[number] += count;
    return run->told[number] < run->rings[number].end;
}

// A report of a run that says no more than its number and the like.
static bool put_short(struct run *run, enum report report) {
    size_t start = begin_frame(&outgoing, report, 32 + 4 * SURVIVOR_LIMIT);
    if (start == SIZE_MAX) return false;
    put_u64(&outgoing, run->id);
    switch (report) {
    case report_known: put_u8(&outgoing, (uint8_t)run->phase); break;
    case report_signalled: put_u8(&outgoing, (uint8_t)run->answer); break;
    case report_outlasted: report_pids(run); break;
    default: break;
    }
    if (report == report_known || report == report_started) {
        put_u32(&outgoing, (uint32_t)run->pid);
        put_u64(&outgoing, (uint64_t)run->started_at);
    }
    end_frame(&outgoing, start);
    return true;
}

static const struct {
    enum news news;
    enum report report;
} short_reports[] = {
    {news_started, report_started},
    {news_signalled, report_signalled},
    {news_outlasted, report_outlasted},
};

// Puts what is to be told of a run, one piece of each stream at most; the rest has its turn later.
static void put_news(struct run *run) {
    if (run->is_stored) return remove_run(run);
    for (size_t i = 0; i < sizeof short_reports / sizeof *short_reports; i++)
        if (run->news & short_reports[i].news && put_short(run, short_reports[i].report))
            run->news &= ~(unsigned)short_reports[i].news;
    if (run->news & (news_output | news_ended)) {
        bool has_more = put_output(run, 0);
        has_more = put_output(run, 1) || has_more;
        if (!has_more) run->news &= ~(unsigned)news_output;
        if (!has_more && run->news & news_ended && put_end(run)) run->news &= ~(unsigned)news_ended;
    }
    if (run->news != 0) tell(run, 0);
}

// MARK: - The connection

static void part(const char *why, int error) {
    if (why) say(why, error);
    loop_close(&daemon_out);
    loop_close(&daemon_in);
    free(incoming);
    free(outgoing.bytes);
    incoming = NULL;
    incoming_count = incoming_room = 0;
    outgoing = (struct buffer){0};
    is_greeted = is_waiting = is_paused = false;
    forget_news();
}

static size_t unsent(void) { return outgoing.end - outgoing.start; }

static void hear_again(void);

void tell_daemon(void) {
    if (!is_greeted || is_waiting) return;
    for (;;) {
        if (is_paused && unsent() < OUT_LIMIT) hear_again();
        if (!is_greeted) return;
        for (struct run *run; unsent() < OUT_LIMIT / 2 && (run = next_news());) put_news(run);
        size_t count = unsent();
        if (count == 0) return;
        ssize_t sent = send(daemon_out.descriptor, outgoing.bytes + outgoing.start, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            outgoing.start += (size_t)sent;
        } else if (errno == EAGAIN) {
            int error = loop_watch(&daemon_out, true);
            if (error != 0) return part("cannot watch the daemon's connection", error);
            is_waiting = true;
            return;
        } else if (errno != EINTR) {
            return part(NULL, 0);
        }
    }
}

static void daemon_writable(struct source *source) {
    loop_forget(source);
    is_waiting = false;
    tell_daemon();
}

// MARK: - Orders

static bool is_listed;

static void list_run(struct run *run) {
    if (!put_short(run, report_known)) is_listed = false;
    run->told[0] = run->told[1] = 0;
    tell(run, run->phase == phase_ended ? news_output | news_ended : news_output);
}

static bool put_groups(void) {
    uint32_t count = (uint32_t)strlen(groups_lack);
    size_t start = begin_frame(&outgoing, report_groups, 6 + count);
    if (start == SIZE_MAX) return false;
    put_u8(&outgoing, has_groups);
    put_u8(&outgoing, (uint8_t)controllers);
    put_bytes(&outgoing, groups_lack, count);
    end_frame(&outgoing, start);
    return true;
}

static bool hello(struct reader *frame) {
    uint32_t version = take_u32(frame);
    // A daemon of any version reads this answer, and leaves if it does not speak this one.
    if (version == 0 || frame->failed) return false;
    size_t start = begin_frame(&outgoing, report_welcome, 40 + sizeof RELEASE);
    if (start == SIZE_MAX) return false;
    put_u32(&outgoing, PROTOCOL_VERSION);
    put_u64(&outgoing, epoch);
    put_u32(&outgoing, (uint32_t)getpid());
    put_u32(&outgoing, (uint32_t)run_limit);
    put_u64(&outgoing, byte_limit);
    put_bytes(&outgoing, RELEASE, sizeof RELEASE);
    end_frame(&outgoing, start);
    is_greeted = true;
    is_listed = put_groups();
    for_each_run(list_run);
    start = begin_frame(&outgoing, report_synced, 0);
    if (start == SIZE_MAX || !is_listed) return false;
    end_frame(&outgoing, start);
    return true;
}

static bool start(struct reader *frame) {
    uint64_t id;
    int error = is_ending ? ESHUTDOWN : start_run(frame, &id);
    if (is_ending) id = take_u64(frame);
    if (error == EPROTO) return false;
    if (error != 0) report_refusal(id, error);
    return true;
}

static bool end(struct reader *frame) {
    uint64_t id = take_u64(frame);
    bool as_runner = take_u8(frame);
    struct teardown teardown;
    if (!take_teardown(frame, &teardown) || !is_read(frame)) return false;
    struct run *run = find_run(id);
    if (run && run->phase < phase_surviving) {
        end_run(run, &teardown, cause_asked, as_runner);
    } else {
        size_t begin = begin_frame(&outgoing, report_signalled, 9);
        // Whoever waits for the answer is told that it is not known, as soon as the daemon greets again.
        if (begin == SIZE_MAX) return part("cannot answer the daemon", ENOMEM), true;
        put_u64(&outgoing, id);
        put_u8(&outgoing, answer_gone);
        end_frame(&outgoing, begin);
    }
    return true;
}

static bool stored(struct reader *frame) {
    uint64_t id = take_u64(frame);
    if (!is_read(frame)) return false;
    struct run *run = find_run(id);
    // Only what has been told can be stored.
    if (!run || run->phase != phase_ended || run->news & news_ended) return true;
    run->is_stored = true;
    if (!run->is_queued) remove_run(run);
    return true;
}

static bool carry_out(const uint8_t *bytes, size_t size) {
    struct reader frame = {bytes + 1, bytes + size, false};
    if (bytes[0] != order_hello && !is_greeted) return false;
    switch (bytes[0]) {
    case order_hello: return !is_greeted && hello(&frame);
    case order_start: return start(&frame);
    case order_end: return end(&frame);
    case order_stored: return stored(&frame);
    case order_leave: is_to_leave = true; return true;
    case order_end_all: end_all(); return true;
    // A newer daemon has been told this version, and says nothing that it does not know.
    default: return false;
    }
}

static const char misunderstood[] = "a daemon's order cannot be understood; its connection is closed";

static bool make_room(size_t wanted) {
    if (wanted <= incoming_room) return true;
    uint8_t *more = realloc(incoming, wanted);
    if (!more) return false;
    incoming = more;
    incoming_room = wanted;
    return true;
}

static uint32_t size_at(const uint8_t *bytes) {
    struct reader reader = {bytes, bytes + 4, false};
    return take_u32(&reader);
}

// Carries out the frames that are complete, as long as there is room for the answers; false if one cannot be
// understood.
static bool carry_out_all(void) {
    size_t done = 0;
    while (has_daemon() && !is_paused && incoming_count - done >= 4) {
        uint32_t size = size_at(incoming + done);
        if (size < 1 || size > FRAME_LIMIT) return false;
        if (incoming_count - done - 4 < size) break;
        if (!carry_out(incoming + done + 4, size)) return false;
        done += 4 + size;
        is_paused = unsent() >= OUT_LIMIT;
    }
    if (!has_daemon()) return true;
    memmove(incoming, incoming + done, incoming_count - done);
    incoming_count -= done;
    if (is_paused) loop_forget(&daemon_in);
    return true;
}

static void hear_again(void) {
    is_paused = false;
    int error = loop_watch(&daemon_in, false);
    if (error != 0) return part("cannot watch the daemon's connection", error);
    if (!carry_out_all()) part(misunderstood, 0);
}

static void daemon_readable(struct source *source) {
    size_t wanted = incoming_count + PIECE;
    // The rest of a long frame at once.
    if (incoming_count >= 4 && size_at(incoming) + 4 > wanted) wanted = size_at(incoming) + 4;
    if (!make_room(wanted)) return part("cannot keep a daemon's order", ENOMEM);
    ssize_t count = read(source->descriptor, incoming + incoming_count, incoming_room - incoming_count);
    if (count == 0) return part(NULL, 0);
    if (count < 0) {
        bool is_gone = errno == ECONNRESET;
        if (errno != EAGAIN && errno != EINTR) part(is_gone ? NULL : "cannot read from the daemon", errno);
        return;
    }
    incoming_count += (size_t)count;
    if (!carry_out_all()) return part(misunderstood, 0);
    // A long order's room is not kept.
    if (incoming_count == 0 && incoming_room > 2 * PIECE) {
        free(incoming);
        incoming = NULL;
        incoming_room = 0;
    }
}

// Only the runner's own user, and root, may speak to it.
static bool is_trusted(int connection) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1) return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

static void listen_again(struct alarm *alarm) {
    if (loop_watch(&listener, false) != 0) alarm_set(alarm, loop_now() + LISTEN_AGAIN);
}

static void daemon_arrives(struct source *source) {
    static struct alarm again = {.ring = listen_again};
    int connection = accept4(source->descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection == -1) {
        if (!lacks_room(errno)) return;
        // The connection waits, of which the loop would tell without end.
        say("cannot take a daemon's connection yet", errno);
        loop_forget(source);
        return alarm_set(&again, loop_now() + LISTEN_AGAIN);
    }
    if (!is_trusted(connection)) {
        say("a connection of another user was closed", 0);
        close(connection);
        return;
    }
    // The newest one counts: the one before may be of a daemon that hangs.
    part(NULL, 0);
    daemon_in = (struct source){connection, daemon_readable};
    daemon_out = (struct source){fcntl(connection, F_DUPFD_CLOEXEC, 0), daemon_writable};
    int error = daemon_out.descriptor == -1 ? errno : loop_watch(&daemon_in, false);
    if (error != 0) part("cannot take a daemon's connection", error);
}

int listen_to_daemons(int descriptor) {
    // Never 0, and no more than the daemon's store can keep.
    while (epoch == 0) {
        if (getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) return errno;
        epoch &= INT64_MAX;
    }
    listener = (struct source){descriptor, daemon_arrives};
    return loop_watch(&listener, false);
}
