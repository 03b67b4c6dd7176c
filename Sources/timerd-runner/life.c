// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "run.h"

#include "CSpawn.h"
#include "secrets.h"
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 65536 };

// MARK: - Its streams

// Reads once what there is; how many bytes.
static size_t read_stream(struct run *run, int number) {
    struct source *stream = &run->streams[number];
    if (stream->descriptor == -1) return 0;
    uint8_t bytes[PIECE];
    ssize_t count = read(stream->descriptor, bytes, sizeof bytes);
    if (count > 0) {
        output_add(&run->output, number, wall_now(), bytes, (size_t)count);
        tell(run, news_output);
        return (size_t)count;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) loop_close(stream);
    return 0;
}

// Reads what is in the pipe now. What comes meanwhile is a flood from whoever else has the other end.
static void drain_stream(struct run *run, int number) {
    int left = 0;
    if (ioctl(run->streams[number].descriptor, FIONREAD, &left) == -1) return;
    for (size_t count; left > 0 && (count = read_stream(run, number)) > 0;) left -= (int)count;
}

static void stdout_ready(struct source *source) {
    read_stream(OWNER_OF(source, struct run, streams[0]), 0);
}

static void stderr_ready(struct source *source) {
    read_stream(OWNER_OF(source, struct run, streams[1]), 1);
}

static void end_input(struct run *run) {
    loop_close(&run->input);
    free(run->unwritten);
    run->unwritten = NULL;
}

static void input_ready(struct source *source) {
    struct run *run = OWNER_OF(source, struct run, input);
    ssize_t count = write(source->descriptor, run->unwritten + run->written, run->input_size - run->written);
    if (count > 0) run->written += (size_t)count;
    bool is_closed = count < 0 && errno != EAGAIN && errno != EINTR;
    if (is_closed || run->written == run->input_size) end_input(run);
}

// MARK: - Its process

// Takes what the process says of its way to the command: nothing, if it became it.
//
// A process that has ended without a word has become the command before, or was killed on its way, which is as
// good an end of a run.
static void read_status(struct run *run) {
    if (run->status.descriptor == -1) return;
    struct cspawn_report report;
    if (read(run->status.descriptor, &report, sizeof report) == sizeof report) {
        memcpy(run->failure, &report, sizeof report);
        run->failure_size = sizeof report;
    } else {
        run->phase = phase_running;
        tell(run, news_started);
    }
    loop_close(&run->status);
}

static void status_ready(struct source *source) {
    struct run *run = OWNER_OF(source, struct run, status);
    // Of a session that is not opened, the end of its process tells.
    if (is_opening(run)) return loop_forget(source);
    read_status(run);
}

int watch_run(struct run *run) {
    run->status.ready = status_ready;
    run->input.ready = input_ready;
    run->streams[0].ready = stdout_ready;
    run->streams[1].ready = stderr_ready;
    if (run->input_size == 0) end_input(run);
    int error = loop_watch(&run->status, false);
    if (error == 0 && run->input.descriptor != -1) error = loop_watch(&run->input, true);
    for (int i = 0; error == 0 && i < 2; i++) error = loop_watch(&run->streams[i], false);
    return error;
}

void close_run(struct run *run) {
    loop_close(&run->status);
    end_input(run);
    loop_close(&run->streams[0]);
    loop_close(&run->streams[1]);
}

// MARK: - Its end

static uint64_t microseconds(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void process_ended(struct run *run, int status, const struct rusage *used) {
    run->ended_at = wall_now();
    run->wait_status = status;
    run->user_time = microseconds(used->ru_utime);
    run->system_time = microseconds(used->ru_stime);
    // The kernel counts the memory before the exec too, when it was a copy of the runner: no more than that
    // says nothing about the command.
    uint64_t peak = (uint64_t)used->ru_maxrss * 1024;
    run->peak_memory = peak > run->peak_before ? peak : 0;
    remove_process(run);
    read_status(run);
    end_input(run);
    alarm_clear(&run->timeout);
    run->is_interrupted = is_ended_with_all(run, status);
    // Those that nobody could end may have ended since.
    run->survivor_count = 0;
    run->phase = phase_surviving;
    if (run->group ? remove_group(run) : !survives(run)) return finish(run);
    if (run->group) watch_group(run->group);
    end_rest(run, status);
}

void process_lost(struct run *run) {
    // It was waiting, so a signal has ended it; SIGKILL is what the kernel sends for lack of memory.
    process_ended(run, SIGKILL, &(struct rusage){0});
}

void reap(void) {
    for (;;) {
        // While a signal is on its way to a group, no number may become free: it could be another group's by then. The
        // end of a run may have sent one just now; the next ones wait for this.
        if (reap_errands()) return;
        int status;
        struct rusage used;
        pid_t pid = wait4(-1, &status, WNOHANG, &used);
        if (pid <= 0) break;
        struct run *run = find_process(pid);
        if (run) {
            process_ended(run, status, &used);
            continue;
        }
        // Others are what runs have left, which the runner has adopted, or the command's process of a session, which was
        // killed before the session's has said its number.
        forget_session(pid);
        secrets_forget(pid);
    }
    send_waiting();
}

// Ends all that is under way for it.
static void leave(struct run *run) {
    alarm_clear(&run->timeout);
    stop_ending(run);
    close_session(run);
    if (run->has_secrets) secrets_remove(run->id);
    if (!remove_group(run)) abandon_group(run);
    note_end();
}

void withdraw(struct run *run) {
    close_run(run);
    leave(run);
    remove_run(run);
}

void finish(struct run *run) {
    // What was written before the end is in the pipes. They stay open until now: what its own process has left behind is to
    // clean up, and may say so.
    for (int i = 0; i < 2; i++) drain_stream(run, i);
    close_run(run);
    leave(run);
    run->phase = phase_ended;
    tell(run, news_ended);
}
