// SPDX-License-Identifier: Apache-2.0

#include "session.h"
#include "signals.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

// A process that is not its owner's yet refuses a signal. That takes a moment, in which nothing blocks.
enum { TRIES = 100, PAUSE = 5000 };
// How soon, and how often at least, it is looked who is left of a group: of most members the end is told, but not
// of one whose parent has left the group.
enum { FIRST_LOOK = 5000, LAST_LOOK = 200000 };

static void send_next(struct ending *ending);

bool is_ending;

// Whether the end of its control group is told.
static bool is_watched(const struct run *run) { return run->group && run->group->events.descriptor != -1; }

static void wait_for(struct ending *ending, int64_t time) {
    int64_t date = loop_after((uint64_t)time);
    ending->until = date;
    if (ending->cause == cause_survivors && !is_watched(ending->run)) {
        ending->pause = FIRST_LOOK;
        if (loop_now() + FIRST_LOOK < date) date = loop_now() + FIRST_LOOK;
    }
    alarm_set(&ending->alarm, date);
}

static bool is_asked(const struct ending *ending) {
    return ending->cause == cause_asked || ending->cause == cause_asked_with_all;
}

static bool is_with_all(const struct ending *ending) {
    return ending->cause == cause_end_of_all || ending->cause == cause_asked_with_all;
}

// True if the run's end waits on: its grace is not over yet.
static bool waits_on(struct ending *ending) {
    if (loop_now() >= ending->until) return false;
    if (ending->pause < LAST_LOOK) ending->pause *= 2;
    int64_t date = loop_now() + ending->pause;
    alarm_set(&ending->alarm, date < ending->until ? date : ending->until);
    return true;
}

static void ring(struct alarm *alarm) {
    struct ending *ending = OWNER_OF(alarm, struct ending, alarm);
    struct run *run = ending->run;
    if (ending->cause == cause_survivors) {
        if (!survives(run)) return finish(run);
        if (waits_on(ending)) return;
    }
    if (ending->next < ending->by.count) return send_next(ending);
    // The grace after SIGKILL is over.
    if (ending->cause == cause_survivors) {
        run->survivor_count = find_members(run, run->survivors, SURVIVOR_LIMIT);
        return finish(run);
    }
    // Its owner may not signal what is left, or that sleeps where no signal reaches it, as where a server of files is gone.
    run->survivor_count = find_members(run, run->survivors, SURVIVOR_LIMIT);
    if (run->survivor_count > 0) tell(run, news_outlasted);
    ending->cause = cause_none;
}

static void answered(struct ending *ending, enum answer answer) {
    struct run *run = ending->run;
    if (answer == answer_refused && ending->is_early && (is_opening(run) || ending->tries++ < TRIES))
        return wait_for(ending, PAUSE);
    bool is_first = ending->next == 0;
    if (is_first && is_asked(ending)) {
        run->answer = answer;
        tell(run, news_signalled);
    }
    ending->is_sent = answer == answer_sent;
    bool may_be_sent = answer == answer_sent || answer == answer_unknown;
    if (may_be_sent && is_with_all(ending) && !run->is_timed_out) run->is_interrupted = true;
    if (ending->cause == cause_survivors) {
        if (!survives(run)) return finish(run);
    } else if (answer == answer_gone || (answer == answer_refused && is_first && is_asked(ending))) {
        // Whoever asked and may signal none of the processes ends nothing. At a timeout, and at the end of all, the later
        // signals are tried all the same: the command may have become another program by then, which may be signalled.
        ending->cause = cause_none;
        if (answer == answer_refused) ending->with_rest = false;
        return;
    }
    int64_t grace = ending->by.steps[ending->next].grace;
    // No process has got it, so there is nothing to wait for.
    if (answer == answer_refused && ending->cause == cause_survivors) grace = 0;
    ending->next++;
    wait_for(ending, grace);
}

// MARK: - Signals that wait for room

static TAILQ_HEAD(, ending) waiting = TAILQ_HEAD_INITIALIZER(waiting);

static void ring_waiting(struct alarm *alarm) {
    (void)alarm;
    send_waiting();
}

static struct alarm again = {.ring = ring_waiting};

static void leave_queue(struct ending *ending) {
    if (ending->is_waiting) TAILQ_REMOVE(&waiting, ending, waiting);
    ending->is_waiting = false;
}

bool has_ended(const struct run *run) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

static enum sending try_next(struct ending *ending, enum answer *answer) {
    struct run *run = ending->run;
    int signal = ending->by.steps[ending->next].signal;
    // The run's own process has ended by itself: that is its end. What it has left behind is ended by the run's rules.
    if (is_with_all(ending) && has_ended(run)) {
        *answer = answer_gone;
        return sending_done;
    }
    // The run's process has ended, and what it has left had its time: all of the group is ended, whosever processes these are
    // by now.
    if (ending->cause == cause_survivors && run->group && signal == SIGKILL) {
        int error = kill_group(run->group);
        *answer = answer_sent;
        return lacks_room(error) ? sending_later : sending_done;
    }
    // At the end of all the runner itself ends what the owner may not: it would outlive the runner, and nobody would mind it.
    bool as_runner = ending->as_runner || (ending->cause == cause_end_of_all && signal == SIGKILL);
    return send_signal(run, signal, (int)(ending - run->endings), as_runner, answer);
}

// Whether there was room.
static bool try_to_send(struct ending *ending) {
    enum answer answer;
    ending->is_early = ending->run->phase == phase_starting;
    enum sending sending = try_next(ending, &answer);
    if (sending == sending_later) return false;
    leave_queue(ending);
    ending->is_sending = sending == sending_begun;
    if (!ending->is_sending) answered(ending, answer);
    return true;
}

static void send_next(struct ending *ending) {
    // Those that came before have their turn first.
    if (TAILQ_EMPTY(&waiting) && try_to_send(ending)) return;
    ending->is_waiting = true;
    TAILQ_INSERT_TAIL(&waiting, ending, waiting);
    // Where nothing tells that there is room again.
    if (again.place == 0) alarm_set(&again, loop_now() + PAUSE);
}

void send_waiting(void) {
    while (!TAILQ_EMPTY(&waiting))
        if (!try_to_send(TAILQ_FIRST(&waiting))) return alarm_set(&again, loop_now() + PAUSE);
    alarm_clear(&again);
}

// MARK: - Beginning and end

void take_answer(uint64_t id, int number, enum answer answer) {
    struct run *run = find_run(id);
    if (!run || !run->endings[number].is_sending) return;
    struct ending *ending = &run->endings[number];
    ending->is_sending = false;
    if (ending->cause != cause_none) answered(ending, answer);
}

static struct ending *place_for(struct run *run, enum cause cause) {
    switch (cause) {
    case cause_asked:
    case cause_asked_with_all: return &run->endings[ending_by_daemon];
    case cause_end_of_all: return &run->endings[ending_with_all];
    default: return &run->endings[ending_by_rules];
    }
}

bool is_asked_to_end(const struct run *run) { return run->endings[ending_by_daemon].cause != cause_none; }

bool has_signalled(const struct run *run) { return run->endings[ending_by_daemon].next > 0; }

// The time of the steps from that one on until the last, which is SIGKILL.
static int64_t time_from(const struct teardown *by, size_t step) {
    int64_t time = 0;
    for (; step + 1 < by->count; step++)
        if (__builtin_add_overflow(time, by->steps[step].grace, &time)) return INT64_MAX;
    return time;
}

bool is_ending_sooner(const struct run *run, const struct teardown *teardown, bool as_runner) {
    const struct ending *ending = &run->endings[ending_by_daemon];
    if (ending->cause == cause_none || !ending->with_rest || (as_runner && !ending->as_runner)) return false;
    int64_t time = time_from(&ending->by, ending->next);
    bool is_waiting = ending->next > 0 && !ending->is_sending && !ending->is_waiting;
    int64_t left = is_waiting && ending->next < ending->by.count ? ending->until - loop_now() : 0;
    if (left > 0 && __builtin_add_overflow(time, left, &time)) return false;
    return time <= time_from(teardown, 0);
}

void count_as_ended_with_all(struct run *run) { run->endings[ending_by_daemon].cause = cause_asked_with_all; }

static void begin_ending(struct run *run, const struct teardown *teardown, enum cause cause, bool as_runner, bool with_rest) {
    struct ending *ending = place_for(run, cause);
    bool was_sending = ending->is_sending;
    // The signal that is on its way may be what ends the run, whatever is asked meanwhile: so the run counts as ended with
    // all.
    if (was_sending && ending->cause == cause_asked_with_all) cause = cause_asked_with_all;
    alarm_clear(&ending->alarm);
    leave_queue(ending);
    *ending = (struct ending){
        .run = run,
        .by = *teardown,
        .cause = cause,
        .as_runner = as_runner,
        .with_rest = with_rest,
        .alarm.ring = ring,
    };
    // The signal that is on its way is an earlier ending's: its answer says nothing of this one.
    if (was_sending)
        wait_for(ending, 0);
    else
        send_next(ending);
}

void end_run(struct run *run, const struct teardown *teardown, enum cause cause, bool as_runner) {
    begin_ending(run, teardown, cause, as_runner, false);
}

struct teardown rules_of_command(const struct run *run) {
    struct teardown by = run->rules;
    // SIGCONT ends nothing: it gives time to what the command leaves behind, and the command has had its own.
    while (by.count > 1 && by.steps[0].signal == SIGCONT) memmove(by.steps, by.steps + 1, --by.count * sizeof by.steps[0]);
    return by;
}

// Whether that is the signal that all of a run have got last by one of its endings.
static bool have_all_got(const struct run *run, int signal) {
    for (int i = 0; i < ENDINGS; i++) {
        const struct ending *ending = &run->endings[i];
        if (ending->cause == cause_none || ending->next == 0 || !ending->is_sent) continue;
        const struct step *last = &ending->by.steps[ending->next - 1];
        if ((last->signal == 0 ? last->left_out : last->signal) == signal) return true;
    }
    return false;
}

// Puts signal 0 in place of the first signal if all of a run have got that one already. What has begun since may be what a
// trap has begun to clean up: the same signal once more would end that half way. Signal 0 is heeded by nobody; its answer
// says whether the owner may signal any of them. The grace stays the same.
static void leave_out_what_all_have(const struct run *run, struct teardown *by) {
    struct step *first = &by->steps[0];
    if (first->signal == SIGKILL || !have_all_got(run, first->signal)) return;
    first->left_out = first->signal;
    first->signal = 0;
}

void end_rest(struct run *run, int wait_status) {
    const struct ending *asked = &run->endings[ending_by_daemon];
    struct teardown by = asked->with_rest ? asked->by : run->rules;
    bool as_runner = asked->with_rest && asked->as_runner;
    // Only if that signal has ended the command: else it may have begun the survivors after the signal, so they have not got
    // it.
    if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == by.steps[0].signal) leave_out_what_all_have(run, &by);
    stop_ending(run);
    end_run(run, &by, cause_survivors, as_runner);
}

void end_with_rest(struct run *run, const struct teardown *teardown, bool as_runner) {
    if (run->phase < phase_surviving) return begin_ending(run, teardown, cause_asked, as_runner, true);
    struct teardown by = *teardown;
    // They heed that signal already.
    leave_out_what_all_have(run, &by);
    end_run(run, &by, cause_survivors, as_runner);
}

struct teardown rules_not_repeated(const struct run *run) {
    struct teardown by = rules_of_command(run);
    leave_out_what_all_have(run, &by);
    return by;
}

void end_command(struct run *run, enum cause cause) {
    struct teardown by = rules_not_repeated(run);
    end_run(run, &by, cause, false);
}

void stop_ending(struct run *run) {
    for (int i = 0; i < ENDINGS; i++) {
        alarm_clear(&run->endings[i].alarm);
        leave_queue(&run->endings[i]);
        run->endings[i].cause = cause_none;
    }
}

// MARK: - The end of all

static void end_one(struct run *run, void *context) {
    (void)context;
    if (run->phase < phase_surviving) end_command(run, cause_end_of_all);
}

void end_all(void) {
    if (is_ending) return;
    is_ending = true;
    for_each_run(end_one, NULL);
}

bool is_ended_with_all(const struct run *run, int wait_status) {
    if (run->is_interrupted) return true;
    if (run->is_timed_out || !WIFSIGNALED(wait_status)) return false;
    // A signal that came before any of these is not told from one of these.
    for (int i = 0; i < ENDINGS; i++)
        if (is_with_all(&run->endings[i])) return true;
    return false;
}
