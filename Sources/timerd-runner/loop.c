// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { TURN = 64 };

static int epoll = -1;
static bool is_ended;
// What the present turn has still to tell.
static struct epoll_event events[TURN];
static int event_count;

// A binary heap of the alarms that are set; the soonest is at 1.
static struct alarm **alarms;
static size_t alarm_count, alarm_room;
static struct source timer;
// What the timer is set to; INT64_MAX for nothing.
static int64_t timer_due = INT64_MAX;

static int64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

int64_t loop_now(void) { return now(CLOCK_BOOTTIME); }

int64_t loop_after(uint64_t time) {
    int64_t date;
    return __builtin_add_overflow(loop_now(), time, &date) ? INT64_MAX : date;
}

int64_t wall_now(void) { return now(CLOCK_REALTIME); }

bool lacks_room(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

// MARK: - Descriptors

static int watch(struct source *source, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, source->descriptor, &event) == -1 ? errno : 0;
}

int loop_watch(struct source *source, bool for_writing) { return watch(source, for_writing ? EPOLLOUT : EPOLLIN); }

int loop_watch_changes(struct source *source) { return watch(source, EPOLLPRI); }

void loop_forget(struct source *source) {
    if (source->descriptor == -1) return;
    // Before the close: a child that was just forked may hold a copy, and epoll would tell of it for ever.
    // The error is that it was not watched.
    (void)epoll_ctl(epoll, EPOLL_CTL_DEL, source->descriptor, NULL);
    for (int i = 0; i < event_count; i++)
        if (events[i].data.ptr == source) events[i].data.ptr = NULL;
}

void loop_close(struct source *source) {
    loop_forget(source);
    if (source->descriptor != -1) close(source->descriptor);
    source->descriptor = -1;
}

// MARK: - Dates

static void put(struct alarm *alarm, size_t place) {
    alarms[place] = alarm;
    alarm->place = place;
}

static void rise(struct alarm *alarm, size_t place) {
    for (; place > 1 && alarms[place / 2]->due > alarm->due; place /= 2)
        put(alarms[place / 2], place);
    put(alarm, place);
}

static void sink(struct alarm *alarm, size_t place) {
    for (size_t child; (child = place * 2) <= alarm_count; place = child) {
        if (child < alarm_count && alarms[child + 1]->due < alarms[child]->due) child++;
        if (alarms[child]->due >= alarm->due) break;
        put(alarms[child], place);
    }
    put(alarm, place);
}

void alarm_clear(struct alarm *alarm) {
    size_t place = alarm->place;
    if (place == 0) return;
    alarm->place = 0;
    struct alarm *last = alarms[alarm_count--];
    if (last == alarm) return;
    if (place > 1 && alarms[place / 2]->due > last->due)
        rise(last, place);
    else
        sink(last, place);
}

void alarm_set(struct alarm *alarm, int64_t due) {
    alarm_clear(alarm);
    // There are more than were announced.
    if (alarm_count == alarm_room) abort();
    alarm->due = due;
    alarm_count++;
    rise(alarm, alarm_count);
}

// The timer's own end is read in `ring_due`; this only wakes the loop.
static void timer_ready(struct source *source) {
    uint64_t count;
    ssize_t size = read(source->descriptor, &count, sizeof count);
    (void)size;
    timer_due = INT64_MAX;
}

static void set_timer(void) {
    int64_t due = alarm_count > 0 ? alarms[1]->due : INT64_MAX;
    if (due == timer_due) return;
    timer_due = due;
    struct itimerspec time = {{0, 0}, {0, 0}};
    if (due != INT64_MAX) {
        // 0 would disarm it.
        int64_t date = due > 0 ? due : 1;
        time.it_value.tv_sec = date / 1000000;
        time.it_value.tv_nsec = date % 1000000 * 1000;
    }
    timerfd_settime(timer.descriptor, TFD_TIMER_ABSTIME, &time, NULL);
}

static void ring_due(void) {
    int64_t date = loop_now();
    while (alarm_count > 0 && alarms[1]->due <= date) {
        struct alarm *alarm = alarms[1];
        alarm_clear(alarm);
        alarm->ring(alarm);
    }
}

// MARK: - Turns

int loop_open(size_t room) {
    // From 1 on. What is not used of it takes no memory.
    alarms = malloc((room + 1) * sizeof *alarms);
    if (!alarms) return ENOMEM;
    alarm_room = room;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll == -1) return errno;
    timer.descriptor = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer.descriptor == -1) return errno;
    timer.ready = timer_ready;
    return loop_watch(&timer, false);
}

void loop_run(void (*between)(void)) {
    while (!is_ended) {
        set_timer();
        event_count = epoll_wait(epoll, events, TURN, -1);
        for (int i = 0; i < event_count; i++) {
            struct source *source = events[i].data.ptr;
            // It was closed by what was told before it in this turn.
            if (source) source->ready(source);
        }
        event_count = 0;
        ring_due();
        between();
    }
}

void loop_end(void) { is_ended = true; }
