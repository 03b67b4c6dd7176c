// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "spawn.h"

#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

// KEYCTL_JOIN_SESSION_KEYRING of keyctl(2); the kernel's header may be missing.
enum { JOIN_SESSION_KEYRING = 1 };

struct start {
    const struct plan *plan;
    int status;
    pid_t caller;
    // Whether the child has still to enter its control group.
    bool enters_group;
    // Whether the caller's oom_score_adj, which the child inherits, is negative. Asked in the caller: the kernel makes what
    // /proc has of a process when somebody looks.
    bool is_protected;
    // What it waits for before all; -1 for nothing. Then its keyring is its parent's, which has made one.
    int gate;
};

// Everything from here to `run` runs in the child.
IN_CHILD_BEGIN

_Noreturn void give_up(int status, const struct cspawn_report *report) {
    // The pipe is empty, so this writes all of it or nothing: pipe(7).
    ssize_t written = write(status, report, sizeof *report);
    (void)written;
    _exit(127);
}

_Noreturn void fail(enum cspawn_step step, int error) {
    struct cspawn_report report = {.step = step, .error = error, .file = -1};
    give_up(STATUS, &report);
}

void reset_signals(void) {
    // The kernel's struct sigaction, all zero: SIG_DFL. glibc's call refuses 32 and 33.
    unsigned long standard[8] = {0};
    for (int signal = 1; signal <= 64; signal++)
        syscall(SYS_rt_sigaction, signal, standard, NULL, 8);
}

// Has these signals blocked, a bit each, and no others.
static void block_only(uint64_t signals) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, 8);
}

// Makes `stdio` 0, 1 and 2, `status` 3, and closes all others.
static void arrange_descriptors(const int *stdio, int status) {
    int high[4] = {stdio[0], stdio[1], stdio[2], status};
    // Moves those that are in the way of 0 to 3: the runner may have been started without 0, 1 or 2.
    for (int i = 0; i < 4; i++)
        if (high[i] <= STATUS) high[i] = fcntl(high[i], F_DUPFD, STATUS + 1);
    if (high[0] == -1 || high[1] == -1 || high[2] == -1 || dup3(high[3], STATUS, O_CLOEXEC) == -1) {
        struct cspawn_report report = {cspawn_step_descriptors, errno, -1, 0, {0}};
        give_up(status, &report);
    }
    for (int i = 0; i < 3; i++)
        if (dup2(high[i], i) == -1) fail(cspawn_step_descriptors, errno);
    if (syscall(SYS_close_range, STATUS + 1, ~0U, 0) == -1) fail(cspawn_step_descriptors, errno);
}

// Lowers a limit; one that is stricter already stays.
static void lower(int resource, rlim_t soft, rlim_t hard, enum cspawn_step step) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) == -1) fail(step, errno);
    if (hard < limit.rlim_max) limit.rlim_max = hard;
    if (soft < limit.rlim_cur) limit.rlim_cur = soft;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) == -1) fail(step, errno);
}

static void set_limits(const struct plan *plan) {
    if (plan->memory_max != UINT64_MAX)
        lower(RLIMIT_AS, plan->memory_max, plan->memory_max, cspawn_step_memory);
    // SIGXCPU at the limit, and SIGKILL after 5 s more.
    if (plan->cpu_time != UINT64_MAX)
        lower(RLIMIT_CPU, plan->cpu_time, plan->cpu_time + 5, cspawn_step_cpu);
}

static void set_nice(const struct plan *plan) {
    if (setpriority(PRIO_PROCESS, 0, plan->nice) == -1) fail(cspawn_step_nice, errno);
}

// Gives the child an anonymous session keyring of its own. With the runner's a run could read, clear and revoke root's
// keys and those of other runs. Called before `become`, so that the quota of the runner pays for it.
static void leave_keyring(void) {
    if (syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL) >= 0) return;
    switch (errno) {
    // A kernel without keys, or a container that forbids these calls: then no run reaches a key.
    case ENOSYS:
    case EPERM:
    case EACCES:
        return;
    // The quota of a runner that is not root: it serves a single user, and all keys are that user's.
    case EDQUOT:
        if (syscall(SYS_geteuid) != 0) return;
    }
    fail(cspawn_step_keyring, errno);
}

// Resets an oom_score_adj that protects the runner from the OOM killer; a positive one stays.
//
// Called before `become`: the kernel takes the value that a privileged process wrote as the lowest that others may go
// back to.
static void forgo_oom_protection(void) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    // Without a /proc, or without the right to write to it, the value stays as it is.
    if (file == -1) return;
    ssize_t written = write(file, "0", 1);
    (void)written;
    close(file);
}

// Makes its streams, which are pipes of the runner's, its user's: else it could not open them by a name, as /dev/stderr.
static void give_streams(const struct plan *plan) {
    for (int i = 0; i < 3; i++) {
        // Where the runner may not, as in some containers, the command has them by their numbers alone.
        int code = fchown(i, plan->uid, (gid_t)-1);
        (void)code;
    }
}

// Groups, then gid, then uid: each needs the privilege that the last one takes away.
static void become(const struct plan *plan) {
    uid_t uid = plan->uid, uids[3];
    gid_t gid = plan->gid, gids[3];
    if (syscall(SYS_setgroups, plan->group_count, plan->groups) == -1)
        fail(cspawn_step_groups, errno);
    if (syscall(SYS_setresgid, gid, gid, gid) == -1) fail(cspawn_step_gid, errno);
    if (syscall(SYS_setresuid, uid, uid, uid) == -1) fail(cspawn_step_uid, errno);
    // Checks the result: a uid of -1 means "unchanged" to the kernel, and kept capabilities would
    // let another user become root again.
    if (getresuid(&uids[0], &uids[1], &uids[2]) == -1 ||
        getresgid(&gids[0], &gids[1], &gids[2]) == -1)
        fail(cspawn_step_verify, errno);
    for (int i = 0; i < 3; i++)
        if (uids[i] != uid || gids[i] != gid) fail(cspawn_step_verify, EPERM);
    if (uid != 0 && (syscall(SYS_setuid, 0) == 0 || (gid != 0 && syscall(SYS_setgid, 0) == 0)))
        fail(cspawn_step_verify, EPERM);
    // Whatever fs.suid_dumpable says: its memory is a copy of the runner's until the exec, and a file of its user's, which it
    // reads before that, may keep it waiting for as long as that user likes.
    prctl(PR_SET_DUMPABLE, 0);
}

// Who would say how the command has ended is gone with the caller: it must not go on beside the next attempt.
//
// Last, because the kernel forgets this at a change of the user; so it does where the command is a setuid program.
static void end_with_caller(pid_t caller) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != caller) _exit(1);
}

// Called before `become`: only the caller may move processes between its groups.
static void enter_group(const struct start *start) {
    int file = openat(start->plan->group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (file != -1 && write(file, "0", 1) == 1) {
        close(file);
        return;
    }
    struct cspawn_report report = {cspawn_step_control_group, errno, -1, 0, {0}};
    give_up(start->status, &report);
}

static void wait_at(int gate) {
    struct pollfd ready = {.fd = gate, .events = POLLIN};
    char byte;
    for (;;) {
        ssize_t count = read(gate, &byte, 1);
        if (count == 1) return;
        if (count == 0 || (errno != EAGAIN && errno != EINTR)) _exit(127);
        poll(&ready, 1, -1);
    }
}

static int run(void *argument) {
    const struct start *start = argument;
    const struct plan *plan = start->plan;
    // First, so that a signal to the run's group reaches this process too.
    pid_t session = setsid();
    int error = errno;
    if (start->enters_group) enter_group(start);
    if (start->gate != -1) wait_at(start->gate);
    arrange_descriptors(plan->stdio, start->status);
    if (session == -1) fail(cspawn_step_session, error);
    // The runner's own are; the modules of a session may have changed them.
    if (start->gate != -1) reset_signals();
    // A credential beyond a limit of a file's size (ulimit -f, limits.conf) is to be an error, which names it, and no signal: by
    // that the command would count as begun.
    block_only(UINT64_C(1) << (SIGXFSZ - 1));
    // Before a session is opened that has been done, and what its modules have set counts.
    if (start->gate == -1) lower(RLIMIT_NOFILE, plan->open_files, RLIM_INFINITY, cspawn_step_descriptors);
    set_limits(plan);
    if (start->gate == -1) leave_keyring();
    if (start->is_protected) forgo_oom_protection();
    // A niceness of 0 or more is set with the runner's privilege, because the runner itself may run at a higher one. A
    // negative one is set as the owner, and only if the kernel allows the owner that.
    if (plan->has_nice && plan->nice >= 0) set_nice(plan);
    begin_secrets(plan);
    if (plan->has_credentials) {
        give_streams(plan);
        become(plan);
    }
    end_secrets(plan);
    if (plan->has_nice && plan->nice < 0) set_nice(plan);
    complete_environment(plan);
    umask(plan->umask);
    enter_directory(plan);
    block_only(0);
    end_with_caller(start->caller);
    execute(plan);
}

IN_CHILD_END

// A fork into the control group, which is cheaper than to enter it: clone3(2). -1 where the kernel, or whatever
// filters its calls, does not do that.
static pid_t fork_into_group(const struct start *start, uint64_t flags) {
    struct clone_args arguments = {
        .flags = CLONE_INTO_CGROUP | flags,
        // That of a sibling is the caller's.
        .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD,
        .cgroup = (uint64_t)start->plan->group,
    };
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) _exit(run((void *)start));
    return pid;
}

// `flags` are 0 for a child, or CLONE_PARENT for a sibling; 0 or the errno.
static int begin(struct start *start, int flags, pid_t *pid) {
    *pid = start->plan->has_group ? fork_into_group(start, (uint64_t)flags) : -1;
    if (*pid == -1) {
        start->enters_group = start->plan->has_group;
        // The child has a copy of this stack.
        char stack[32768] __attribute__((aligned(16)));
        *pid = clone(run, stack + sizeof stack, flags | SIGCHLD, start);
    }
    return *pid == -1 ? errno : 0;
}

// Each time: it may be changed while the runner lives.
static bool is_protected(void) {
    int file = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    if (file == -1) return false;
    char first = 0;
    ssize_t count = read(file, &first, 1);
    close(file);
    return count == 1 && first == '-';
}

int spawn(const struct plan *plan, int status, pid_t *pid) {
    struct start start = {
        .plan = plan, .status = status, .caller = getpid(), .is_protected = is_protected(), .gate = -1};
    return begin(&start, 0, pid);
}

int spawn_beside(const struct plan *plan, int status, int gate, pid_t *pid) {
    struct start start = {
        .plan = plan, .status = status, .caller = getppid(), .is_protected = is_protected(), .gate = gate};
    return begin(&start, CLONE_PARENT, pid);
}
