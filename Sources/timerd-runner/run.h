// SPDX-License-Identifier: Apache-2.0
// A run, from the order to start it until the daemon says that its end is stored.

#pragma once

#include "groups.h"
#include "loop.h"
#include "output.h"
#include "wire.h"

#include <sys/queue.h>
#include <sys/types.h>

/// Who may be ending a run: its own rules, the daemon, and the end of all runs. They may do so at the same time, and none
/// delays another's SIGKILL.
enum { ending_by_rules, ending_by_daemon, ending_with_all, ENDINGS };

/// How many alarms a run has: its timeout, the opening and the closing of its session, and one of each ending.
enum { ALARMS = 3 + ENDINGS };

enum { STEP_LIMIT = 8, SURVIVOR_LIMIT = 256, BUCKETS = 4096 };

/// A signal, and how long the run has to heed it before the next, in µs.
struct step {
    int32_t signal;
    int64_t grace;
    /// The signal in whose place signal 0 is there.
    int32_t left_out;
};

/// How a run is ended. The last step is SIGKILL.
struct teardown {
    struct step steps[STEP_LIMIT];
    size_t count;
};

/// What came of a signal; the numbers are those of the protocol.
enum answer { answer_sent = 0, answer_refused, answer_gone, answer_unknown };

/// Why a run is being ended.
enum cause {
    cause_none,
    /// It has taken as long as it may.
    cause_timeout,
    /// The daemon asked.
    cause_asked,
    /// The daemon asked, as it ends all runs.
    cause_asked_with_all,
    /// Its own process has ended, and others of its group have not.
    cause_survivors,
    /// All runs are being ended.
    cause_end_of_all,
};

enum phase {
    /// Its process is on its way to the command.
    phase_starting,
    phase_running,
    /// Its own process has ended.
    phase_surviving,
    phase_ended,
};

/// What the daemon has not been told of a run.
enum news {
    news_started = 1,
    news_signalled = 2,
    news_outlasted = 4,
    /// Output, and the end after it.
    news_output = 8,
    news_ended = 16,
};

/// The ending of a run that is under way.
struct ending {
    struct run *run;
    struct teardown by;
    enum cause cause;
    size_t next;
    struct alarm alarm;
    /// Whether signals are sent with the runner's own rights.
    bool as_runner;
    /// Whether what the run's own process leaves behind is ended so, too, and not by the run's rules.
    bool with_rest;
    /// Whether a process of its own is sending one; whether it waits until there is room for that.
    bool is_sending, is_waiting;
    TAILQ_ENTRY(ending) waiting;
    /// Whether the command had not begun when the signal was sent: a process of its own may be slow to say what came
    /// of it.
    bool is_early;
    /// How often the signal was refused to a process that was not the owner's yet.
    int tries;
    /// Whether it is known that the last one was sent.
    bool is_sent;
    /// When the grace of the last signal is over, and how long to wait until it is looked who is left.
    int64_t until, pause;
};

struct run {
    uint64_t id;
    enum phase phase;
    pid_t pid;
    /// Whose rights signals are sent with; no one's: the runner's.
    bool has_owner;
    uid_t owner;
    /// NULL for none: then its process group is all that is known of it.
    struct group *group;

    /// What says why the process could not become the command.
    struct source status;
    struct source input;
    struct source streams[2];
    uint8_t *unwritten;
    size_t written, input_size;
    struct output output;
    /// How many bytes of each stream are kept; how far a daemon has passed them on, as it says itself.
    uint32_t kept;
    uint64_t passed[2];
    /// What is reserved for it of the limit of bytes.
    uint64_t reserved;

    /// The connection with the process that holds its PAM session open; that process, while there is one; and the date
    /// by which the session has to be open.
    struct source session;
    struct holder *holder;
    struct alarm opening;
    bool is_opening, is_opened_late;

    /// How long it may take from its start on, in µs; UINT64_MAX for any time.
    uint64_t time_limit;
    struct alarm timeout;
    bool is_timed_out;
    /// Whether it was ended because all were, by the runner or by the daemon.
    bool is_interrupted;
    struct teardown rules;
    /// By who may be ending it; those that do have a cause.
    struct ending endings[ENDINGS];
    /// What came of the first signal that the daemon asked for.
    enum answer answer;
    /// Those that no signal could end, while it goes on; then those that nothing ended.
    pid_t survivors[SURVIVOR_LIMIT];
    size_t survivor_count;

    /// µs since 1970.
    int64_t started_at, ended_at;
    int wait_status;
    uint64_t user_time, system_time, peak_memory, peak_before;
    /// Whether the kernel ended one of its processes for lack of memory.
    bool is_out_of_memory;
    uint8_t failure[512];
    size_t failure_size;

    unsigned news;
    bool is_queued;
    TAILQ_ENTRY(run) queued;
    /// Whether there may be a folder with its secrets.
    bool has_secrets;
    /// Whether the runner before has kept its end.
    bool is_kept;
    struct run *next_by_id, *next_by_pid;
};

// MARK: - The table (runs.c)

/// The run with that number; NULL for none.
struct run *find_run(uint64_t id);

/// The run whose own process has that number and has not been reaped; NULL for none.
struct run *find_process(pid_t pid);

/// A run with that number, which must be new, for which `reserved` bytes are set aside; NULL and an errno:
/// ENOSPC if there are too many, ENOMEM.
struct run *add_run(uint64_t id, uint64_t reserved, int *error);

/// Forgets a run that has no process and watches nothing, and what was to be told of it.
void remove_run(struct run *run);

void add_process(struct run *run, pid_t pid);
void remove_process(struct run *run);

size_t run_count(void);
/// How many have not ended.
size_t living_count(void);
void note_end(void);

/// Calls `body` with each run, and with `context`.
void for_each_run(void (*body)(struct run *, void *context), void *context);

extern size_t run_limit;
extern uint64_t byte_limit;

/// Has the daemon told of it, as soon as there is room on the connection.
void tell(struct run *run, unsigned news);

/// The run whose turn it is; NULL for none. It is not queued any more.
struct run *next_news(void);

void forget_news(void);

// MARK: - Its life (life.c, start.c)

/// Starts the run of that number as the rest of a frame says; 0, or the errno of a frame that cannot be carried out:
/// EINVAL, EEXIST, ETIMEDOUT, or that of what is for now. What goes wrong otherwise is the end of the run.
int start_run(uint64_t id, struct reader *frame);

/// Reads the rules by which a run is ended; false for what they cannot be.
bool take_teardown(struct reader *frame, struct teardown *teardown);

/// Whether what failed may succeed later: as much is in use as there may be.
bool is_for_now(int error);

/// Forgets a run that has not begun, and closes all that is open of it.
void withdraw(struct run *run);

/// Watches the descriptors of a run that is about to begin; returns 0 or the errno.
int watch_run(struct run *run);

/// Reaps all children that have ended.
void reap(void);

/// Its own process was reaped before it was known to be one.
void process_lost(struct run *run);

/// Has its timeout count from now on, as its command begins: what its session takes to be opened is none of its time.
void count_time(struct run *run);

/// Its end is complete.
void finish(struct run *run);

/// Closes all that is open of a run.
void close_run(struct run *run);

// MARK: - How it is ended (ending.c)

/// Begins to end a run, by `teardown` in place of what is under way.
void end_run(struct run *run, const struct teardown *teardown, enum cause cause, bool as_runner);

/// Ends a run as the daemon asks, and by that, in place of its rules, what its own process leaves behind, or has left behind.
void end_with_rest(struct run *run, const struct teardown *teardown, bool as_runner);

/// Begins to end what its own process, which has ended with that status, has left behind.
void end_rest(struct run *run, int wait_status);

/// Whether a run is being ended as the daemon has asked, or one before it.
bool is_asked_to_end(const struct run *run);

/// Whether it is being ended so with what it leaves behind, with these rights at least, and by the last signal no later than an end by
/// this teardown that begins now.
bool is_ending_sooner(const struct run *run, const struct teardown *teardown, bool as_runner);

/// Has that count as the end of all runs.
void count_as_ended_with_all(struct run *run);

/// Whether it is known what came of the first signal of that.
bool has_signalled(const struct run *run);

/// The rules that a run was started with, for its own process.
struct teardown rules_of_command(const struct run *run);

/// The same where all runs are ended, or its time is over: without the first signal where all of the run have got it already.
struct teardown rules_not_repeated(const struct run *run);

/// Begins to end a run whose own process lives, by the run's rules.
void end_command(struct run *run, enum cause cause);

/// Stops ending it.
void stop_ending(struct run *run);

/// Begins to end all runs, each by its own rules; none is begun any more.
void end_all(void);

/// Whether all runs are being ended.
extern bool is_ending;

/// Whether its own process has ended, which is not reaped yet: a signal to it would count as sent.
bool has_ended(const struct run *run);

/// Its own process has ended with that status: whether that is as all runs are ended.
bool is_ended_with_all(const struct run *run, int wait_status);

/// Sends what waits for room to send it.
void send_waiting(void);

/// Takes the answer to a signal that a process of its own has sent.
void take_answer(uint64_t id, int ending, enum answer answer);

// MARK: - Its processes (errands.c, members.c)

/// How many processes send signals at once; each has an alarm.
enum { ERRAND_LIMIT = 256 };

/// Reaps the processes that send signals; whether any is left.
bool reap_errands(void);

/// Whether processes of a run live on whose own process has been reaped.
bool survives(const struct run *run);

/// Finds the living processes of its group; as many as there is room for.
size_t find_members(const struct run *run, pid_t *members, size_t room);
