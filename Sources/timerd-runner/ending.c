// SPDX-License-Identifier: Apache-2.0

#include "daemon.h"
#include "run.h"

#include "session.h"

#include <signal.h>

// A process that is not its owner's yet refuses a signal. That takes a moment, in which nothing blocks.
enum { TRIES = 100, PAUSE = 5000 };
// How soon, and how often at least, it is looked who is left of a group: of most members the end is told, but not
// of one whose parent has left the group.
enum { FIRST_LOOK = 5000, LAST_LOOK = 200000 };

static void send_next(struct ending *ending);

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

// True if the run's end waits on: its grace is not over yet.
static bool waits_on(struct ending *ending) {
    if (loop_now() >= ending->until) return false;
    if (ending->pause < LAST_LOOK) ending->pause *= 2;
    int64_t date = loop_now() + ending->pause;
    alarm_set(&ending->alarm, date < ending->until ? date : ending->until);
    return true;
}

static void ring(struct alarm *alarm) {
    struct ending *ending = (struct ending *)((char *)alarm - offsetof(struct ending, alarm));
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
    if (ending->cause == cause_timeout && ending->all_refused) {
        run->survivor_count = find_members(run, run->survivors, SURVIVOR_LIMIT);
        tell(run, news_outlasted);
    }
    ending->cause = cause_none;
}

static void answered(struct ending *ending, enum answer answer) {
    struct run *run = ending->run;
    bool is_early = run->phase == phase_starting && (is_opening(run) || ending->tries++ < TRIES);
    if (answer == answer_refused && is_early)
        return wait_for(ending, PAUSE);
    bool is_first = ending->next == 0;
    if (is_first && ending->cause == cause_asked) {
        run->answer = answer;
        tell(run, news_signalled);
    }
    if (answer != answer_refused) ending->all_refused = false;
    if (ending->cause == cause_survivors) {
        if (!survives(run)) return finish(run);
    } else if (answer == answer_gone || (answer == answer_refused && is_first && ending->cause == cause_asked)) {
        // Who may signal nobody ends nobody. At a timeout the later signals are tried all the same: the command
        // may have become another program by then.
        ending->cause = cause_none;
        return;
    }
    int64_t grace = ending->by.steps[ending->next].grace;
    // No process has got it, so there is nothing to wait for.
    if (answer == answer_refused && ending->cause == cause_survivors) grace = 0;
    ending->next++;
    wait_for(ending, grace);
}

static void send_next(struct ending *ending) {
    struct run *run = ending->run;
    int number = (int)(ending - run->endings);
    int signal = ending->by.steps[ending->next].signal;
    // The run is over, and what it has left had its time: none of it outlives the group, whosever it is by now.
    if (ending->cause == cause_survivors && run->group && signal == SIGKILL) {
        kill_group(run->group);
        return answered(ending, answer_sent);
    }
    enum answer answer;
    ending->is_sending = !send_signal(run, signal, number, ending->as_runner, &answer);
    if (!ending->is_sending) answered(ending, answer);
}

void take_answer(uint64_t id, int number, enum answer answer) {
    struct run *run = find_run(id);
    if (!run || !run->endings[number].is_sending) return;
    struct ending *ending = &run->endings[number];
    ending->is_sending = false;
    if (ending->cause != cause_none) answered(ending, answer);
}

void end_run(struct run *run, const struct teardown *teardown, enum cause cause, bool as_runner) {
    struct ending *ending = &run->endings[cause == cause_asked];
    bool was_sending = ending->is_sending;
    alarm_clear(&ending->alarm);
    *ending = (struct ending){
        .run = run,
        .by = *teardown,
        .cause = cause,
        .as_runner = as_runner,
        .all_refused = true,
        .alarm.ring = ring,
    };
    // The signal that is on its way is an earlier ending's: its answer says nothing of this one.
    if (was_sending)
        wait_for(ending, 0);
    else
        send_next(ending);
}

void stop_ending(struct run *run) {
    for (int i = 0; i < 2; i++) {
        alarm_clear(&run->endings[i].alarm);
        run->endings[i].cause = cause_none;
    }
}

// MARK: - The end of all

static void end_one(struct run *run) {
    if (run->phase < phase_surviving) end_run(run, &run->rules, cause_asked, false);
}

void end_all(void) {
    if (is_ending) return;
    is_ending = true;
    for_each_run(end_one);
}
