// SPDX-License-Identifier: Apache-2.0

// Faults between a timerd that is tested and its system; loaded into it with LD_PRELOAD, and part of
// no program that is shipped. It knows the files of one database by their path:
//
//   FAULTS_DATABASE  the path of the database; its -wal and -journal count, its -shm and -lock do not
//   FAULTS_PAGE      a file of `struct page` that the test shares: what is to go wrong, what has
//   FAULTS_JOURNAL   where to note every write and sync in order, for the image that a loss of power
//                    would leave; nothing is noted without it
//
// Chance is drawn from the seed and a count of calls, but which thread calls first is not ours to say.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// What may go wrong. FaultShim.swift has the same order.
enum fault {
    WRITE_FAILS,     // EIO, nothing written
    WRITE_NO_SPACE,  // ENOSPC, nothing written
    WRITE_SHORT,     // half of it written, the other half asked for again
    WRITE_HALF,      // half of it written, then ENOSPC for the rest
    SYNC_FAILS,      // EIO
    TRUNCATE_FAILS,  // EIO
    READ_FAILS,      // EIO
    READ_ONLY,       // EROFS for all that writes, as after an error that the file system had
    FAULTS
};

struct page {
    uint64_t seed;
    // One call in so many fails; never for 0.
    uint64_t one_in[FAULTS];
    uint64_t injected[FAULTS];
    uint64_t calls;
    // Added to CLOCK_REALTIME, nanoseconds.
    int64_t clock_shift;
    // Whether a change of that is told to who sets a timer next, as if it came just before, and to nobody else.
    uint64_t tells_at_set;
};

enum file { OTHER, DATABASE, LOG, ROLLBACK, FOLDER };
enum note { CREATE = 1, WRITE, TRUNCATE, SYNC, UNLINK };

#define DESCRIPTORS 65536
static uint8_t files[DESCRIPTORS];
// The half that is missing after WRITE_HALF fails for want of space.
static uint8_t owes_failure[DESCRIPTORS];
static uint8_t is_clock[DESCRIPTORS];
static uint8_t was_cancelled[DESCRIPTORS];

static struct page no_faults;
static struct page *page = &no_faults;
static char database[4096];
static char folder[4096];
static int journal = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t clock_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static void *watch_clock(void *unused);

__attribute__((constructor)) static void begin(void) {
    // The daemon's runner inherits the environment: it has no part in this, and would empty the journal.
    if (strcmp(program_invocation_short_name, "timerd") != 0) return;
    const char *path = getenv("FAULTS_DATABASE");
    if (path == NULL || strlen(path) >= sizeof database) return;
    strcpy(database, path);
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) *slash = 0;
    const char *shared = getenv("FAULTS_PAGE");
    if (shared != NULL) {
        int file = syscall(SYS_openat, AT_FDCWD, shared, O_RDWR | O_CLOEXEC, 0);
        void *map = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file < 0 || map == MAP_FAILED) abort();
        page = map;
    }
    const char *notes = getenv("FAULTS_JOURNAL");
    if (notes != NULL) {
        journal = syscall(
            SYS_openat, AT_FDCWD, notes, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
        if (journal < 0) abort();
    }
    pthread_t thread;
    if (getenv("FAULTS_CLOCK") != NULL) pthread_create(&thread, NULL, watch_clock, NULL);
}

static enum file kind(const char *path) {
    if (database[0] == 0) return OTHER;
    if (strcmp(path, folder) == 0) return FOLDER;
    size_t length = strlen(database);
    if (strncmp(path, database, length) != 0) return OTHER;
    if (path[length] == 0) return DATABASE;
    if (strcmp(path + length, "-wal") == 0) return LOG;
    if (strcmp(path + length, "-journal") == 0) return ROLLBACK;
    return OTHER;
}

static enum file kind_of(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS ? files[descriptor] : OTHER;
}

static void note(enum note what, enum file file, uint64_t offset, uint64_t length, const void *bytes) {
    if (journal < 0) return;
    uint64_t head[4] = {what, file, offset, length};
    size_t size = sizeof head + (bytes != NULL ? length : 0);
    char *record = malloc(size);
    if (record == NULL) abort();
    memcpy(record, head, sizeof head);
    if (bytes != NULL) memcpy(record + sizeof head, bytes, length);
    if (syscall(SYS_write, journal, record, size) != (long)size) abort();
    free(record);
}

// Whether this call is one of those that fail.
static int strikes(enum fault fault) {
    uint64_t one_in = __atomic_load_n(&page->one_in[fault], __ATOMIC_RELAXED);
    if (one_in == 0) return 0;
    uint64_t value = page->seed + __atomic_add_fetch(&page->calls, 1, __ATOMIC_RELAXED);
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    if ((value ^ (value >> 31)) % one_in != 0) return 0;
    __atomic_add_fetch(&page->injected[fault], 1, __ATOMIC_RELAXED);
    return 1;
}

static int fails(enum fault fault, int number) {
    if (!strikes(fault)) return 0;
    errno = number;
    return 1;
}

// MARK: - Opening, closing, deleting

static int opened(const char *path, int flags, mode_t mode) {
    enum file file = kind(path);
    if (file == OTHER) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (file != FOLDER && (flags & O_ACCMODE) != O_RDONLY && fails(READ_ONLY, EROFS)) return -1;
    pthread_mutex_lock(&mutex);
    int is_new = (flags & O_CREAT) != 0 && syscall(SYS_access, path, F_OK) != 0;
    int descriptor = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    int number = errno;
    if (descriptor >= 0 && descriptor < DESCRIPTORS) {
        files[descriptor] = file;
        if (is_new) note(CREATE, file, 0, 0, NULL);
        if (flags & O_TRUNC) note(TRUNCATE, file, 0, 0, NULL);
    }
    pthread_mutex_unlock(&mutex);
    errno = number;
    return descriptor;
}

#define OPEN(name)                                                        \
    int name(const char *path, int flags, ...) {                          \
        va_list arguments;                                                \
        va_start(arguments, flags);                                       \
        mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;    \
        va_end(arguments);                                                \
        return opened(path, flags, mode);                                 \
    }
OPEN(open)
OPEN(open64)

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS) {
        files[descriptor] = OTHER;
        owes_failure[descriptor] = is_clock[descriptor] = was_cancelled[descriptor] = 0;
    }
    return syscall(SYS_close, descriptor);
}

int unlink(const char *path) {
    enum file file = kind(path);
    if (file == OTHER) return syscall(SYS_unlink, path);
    if (fails(READ_ONLY, EROFS)) return -1;
    pthread_mutex_lock(&mutex);
    int result = syscall(SYS_unlink, path);
    int number = errno;
    if (result == 0) note(UNLINK, file, 0, 0, NULL);
    pthread_mutex_unlock(&mutex);
    errno = number;
    return result;
}

// MARK: - Writing

static ssize_t written(int descriptor, const void *bytes, size_t size, off_t offset) {
    enum file file = kind_of(descriptor);
    if (file == OTHER) return syscall(SYS_pwrite64, descriptor, bytes, size, offset);
    if (owes_failure[descriptor]) {
        owes_failure[descriptor] = 0;
        errno = ENOSPC;
        return -1;
    }
    if (fails(READ_ONLY, EROFS) || fails(WRITE_FAILS, EIO) || fails(WRITE_NO_SPACE, ENOSPC)) return -1;
    if (size > 1 && strikes(WRITE_SHORT)) size /= 2;
    if (size > 1 && strikes(WRITE_HALF)) {
        size /= 2;
        owes_failure[descriptor] = 1;
    }
    pthread_mutex_lock(&mutex);
    ssize_t count = syscall(SYS_pwrite64, descriptor, bytes, size, offset);
    int number = errno;
    if (count > 0) note(WRITE, file, offset, count, bytes);
    pthread_mutex_unlock(&mutex);
    errno = number;
    return count;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
    return written(descriptor, bytes, size, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off_t offset) {
    return written(descriptor, bytes, size, offset);
}

static int truncated(int descriptor, off_t size) {
    enum file file = kind_of(descriptor);
    if (file == OTHER) return syscall(SYS_ftruncate, descriptor, size);
    if (fails(READ_ONLY, EROFS) || fails(TRUNCATE_FAILS, EIO)) return -1;
    pthread_mutex_lock(&mutex);
    int result = syscall(SYS_ftruncate, descriptor, size);
    int number = errno;
    if (result == 0) note(TRUNCATE, file, size, 0, NULL);
    pthread_mutex_unlock(&mutex);
    errno = number;
    return result;
}

int ftruncate(int descriptor, off_t size) { return truncated(descriptor, size); }
int ftruncate64(int descriptor, off_t size) { return truncated(descriptor, size); }

// Noted while nothing else writes: so a sync covers what stands before it, and no more.
static int synced(long call, int descriptor) {
    enum file file = kind_of(descriptor);
    if (file == OTHER) return syscall(call, descriptor);
    if (fails(READ_ONLY, EROFS) || fails(SYNC_FAILS, EIO)) return -1;
    if (journal < 0) return syscall(call, descriptor);
    pthread_mutex_lock(&mutex);
    int result = syscall(call, descriptor);
    int number = errno;
    if (result == 0) note(SYNC, file, 0, 0, NULL);
    pthread_mutex_unlock(&mutex);
    errno = number;
    return result;
}

int fsync(int descriptor) { return synced(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return synced(SYS_fdatasync, descriptor); }

// MARK: - Reading

static ssize_t read_at(int descriptor, void *bytes, size_t size, off_t offset) {
    if (kind_of(descriptor) != OTHER && fails(READ_FAILS, EIO)) return -1;
    return syscall(SYS_pread64, descriptor, bytes, size, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset) {
    return read_at(descriptor, bytes, size, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t size, off_t offset) {
    return read_at(descriptor, bytes, size, offset);
}

ssize_t read(int descriptor, void *bytes, size_t size) {
    ssize_t count = syscall(SYS_read, descriptor, bytes, size);
    // What the kernel says of a timer with TFD_TIMER_CANCEL_ON_SET after a step of the clock.
    if (descriptor >= 0 && descriptor < DESCRIPTORS &&
        __atomic_exchange_n(&was_cancelled[descriptor], 0, __ATOMIC_ACQ_REL)) {
        errno = ECANCELED;
        return -1;
    }
    return count;
}

// MARK: - The clock

static int64_t shift(void) { return __atomic_load_n(&page->clock_shift, __ATOMIC_ACQUIRE); }

static void add(struct timespec *time, int64_t nanoseconds) {
    int64_t rest = time->tv_nsec + nanoseconds % 1000000000;
    time->tv_sec += nanoseconds / 1000000000 + (rest >= 1000000000) - (rest < 0);
    time->tv_nsec = (rest + 1000000000) % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*next)(clockid_t, struct timespec *);
    // The vDSO, which costs no system call: the daemon reads the clocks often.
    if (next == NULL) next = real("clock_gettime");
    int result = next(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && shift() != 0) add(time, shift());
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    time->tv_sec = precise.tv_sec;
    time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (result != NULL) *result = precise.tv_sec;
    return precise.tv_sec;
}

// A date of the shifted clock, in the words of the real one.
int timerfd_settime(int descriptor, int flags, const struct itimerspec *new, struct itimerspec *old) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS || !(flags & TFD_TIMER_CANCEL_ON_SET))
        return syscall(SYS_timerfd_settime, descriptor, flags, new, old);
    struct itimerspec timer = *new;
    pthread_mutex_lock(&clock_mutex);
    is_clock[descriptor] = 1;
    add(&timer.it_value, -shift());
    if (timer.it_value.tv_sec < 0) timer.it_value = (struct timespec){0, 1};
    int result = syscall(SYS_timerfd_settime, descriptor, flags, &timer, old);
    // After a step the kernel sets it, says so here, and not once more at the next read.
    if (result == 0 && __atomic_exchange_n(&was_cancelled[descriptor], 0, __ATOMIC_ACQ_REL)) {
        errno = ECANCELED;
        result = -1;
    }
    pthread_mutex_unlock(&clock_mutex);
    return result;
}

// Wakes whoever watches the clock, as the kernel does when it is set.
static void *watch_clock(void *unused) {
    (void)unused;
    int64_t last = shift();
    for (;;) {
        usleep(1000);
        if (shift() == last) continue;
        last = shift();
        struct itimerspec now = {.it_value = {0, 1}};
        for (int descriptor = 0; descriptor < DESCRIPTORS; descriptor++) {
            if (!is_clock[descriptor]) continue;
            pthread_mutex_lock(&clock_mutex);
            __atomic_store_n(&was_cancelled[descriptor], 1, __ATOMIC_RELEASE);
            if (!__atomic_load_n(&page->tells_at_set, __ATOMIC_ACQUIRE))
                syscall(SYS_timerfd_settime, descriptor, TFD_TIMER_ABSTIME, &now, NULL);
            pthread_mutex_unlock(&clock_mutex);
        }
    }
    return NULL;
}
