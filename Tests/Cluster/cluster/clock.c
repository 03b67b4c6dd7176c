// SPDX-License-Identifier: Apache-2.0

// A wall clock of its own for the processes that this library is loaded into: off by as many microseconds as a file says,
// whose first eight bytes are looked at each time. CLOCK_REALTIME alone is another, and what waits for its dates: libfaketime
// shifts the absolute timers of other clocks as well, which then come too early or too late. When the file is changed, timers
// that are to be told of a step (TFD_TIMER_CANCEL_ON_SET) are.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TIMERS 1024
#define CANCEL_ON_SET (1 << 1)

static const _Atomic int64_t *file;
static const _Atomic int64_t none;
static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_create)(int, int);
static int (*real_settime)(int, int, const struct itimerspec *, struct itimerspec *);
static ssize_t (*real_read)(int, void *, size_t);

// Of timers of CLOCK_REALTIME, by their descriptors: whether they are such, are to be told of a step, and have not been yet.
static _Atomic char is_wall[TIMERS], is_told[TIMERS], was_stepped[TIMERS];
static pthread_once_t watched = PTHREAD_ONCE_INIT;

__attribute__((constructor)) static void begin(void) {
    real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    real_create = dlsym(RTLD_NEXT, "timerfd_create");
    real_settime = dlsym(RTLD_NEXT, "timerfd_settime");
    real_read = dlsym(RTLD_NEXT, "read");
    const char *path = getenv("CLOCK_FILE");
    int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = descriptor < 0 ? MAP_FAILED : mmap(NULL, sizeof *file, PROT_READ, MAP_SHARED, descriptor, 0);
    if (page == MAP_FAILED) abort();
    file = page;
    close(descriptor);
}

static int64_t off(void) { return atomic_load(file ? file : &none); }

static void shift(struct timespec *time, int64_t by) {
    int64_t part = time->tv_nsec + by % 1000000 * 1000;
    time->tv_sec += by / 1000000 + (part < 0 ? -1 : part >= 1000000000 ? 1 : 0);
    time->tv_nsec = part < 0 ? part + 1000000000 : part >= 1000000000 ? part - 1000000000 : part;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    // Before `begin`, of another library that begins.
    if (!real_gettime) real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real_gettime(clock, time);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(time, off());
    return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

// Tells the timers of each step, as the kernel does of those of its own clock.
static void *watch(void *unused) {
    int64_t last = off();
    for (;;) {
        usleep(2000);
        if (off() == last) continue;
        last = off();
        for (int timer = 0; timer < TIMERS; timer++) {
            if (!is_wall[timer] || !is_told[timer]) continue;
            was_stepped[timer] = 1;
            // Readable at once; what fails is another descriptor of that number by now.
            struct itimerspec now = {.it_value.tv_nsec = 1};
            if (real_settime(timer, 0, &now, NULL) != 0) is_wall[timer] = was_stepped[timer] = 0;
        }
    }
    return unused;
}

static void begin_to_watch(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) != 0) abort();
    pthread_detach(thread);
}

int timerfd_create(int clock, int flags) {
    int timer = real_create(clock, flags);
    if (timer < 0 || timer >= TIMERS) return timer;
    is_told[timer] = was_stepped[timer] = 0;
    is_wall[timer] = clock == CLOCK_REALTIME;
    if (is_wall[timer]) pthread_once(&watched, begin_to_watch);
    return timer;
}

int timerfd_settime(int timer, int flags, const struct itimerspec *value, struct itimerspec *old) {
    if (timer < 0 || timer >= TIMERS || !is_wall[timer] || !(flags & TFD_TIMER_ABSTIME))
        return real_settime(timer, flags, value, old);
    struct itimerspec shifted = *value;
    shift(&shifted.it_value, -off());
    if (shifted.it_value.tv_sec < 0) shifted.it_value = (struct timespec){.tv_nsec = 1};
    is_told[timer] = (flags & CANCEL_ON_SET) != 0;
    int status = real_settime(timer, flags, &shifted, old);
    if (status == 0 && atomic_exchange(&was_stepped[timer], 0)) {
        errno = ECANCELED;
        return -1;
    }
    return status;
}

ssize_t read(int descriptor, void *bytes, size_t count) {
    if (!real_read) real_read = dlsym(RTLD_NEXT, "read");
    ssize_t got = real_read(descriptor, bytes, count);
    if (descriptor < 0 || descriptor >= TIMERS || !is_wall[descriptor]) return got;
    if (!atomic_exchange(&was_stepped[descriptor], 0)) return got;
    errno = ECANCELED;
    return -1;
}
