// SPDX-License-Identifier: Apache-2.0
// What the machine makes of runs with a control group each: the limit of `timerd-benchmarks runs`, which knows none.
//
//     gcc -O2 -o spawn_groups Benchmarks/Peers/spawn_groups.c
//     spawn_groups RUNS AT_ONCE [FOLDER]
//
// Starts /bin/true so often, so many at once, and waits for each; nothing else. With FOLDER, an empty group of cgroup v2,
// each in a group of its own below it: made, forked into, removed. Prints the runs a second and this process's own
// processor time for one.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static const char *name_of(int number) {
    static char name[32];
    snprintf(name, sizeof name, "bare-%d", number);
    return name;
}

static pid_t start(int folder, int number) {
    int group = -1;
    if (folder != -1) {
        if (mkdirat(folder, name_of(number), 0755) == -1) fail("mkdir");
        group = openat(folder, name_of(number), O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (group == -1) fail("open");
    }
    struct clone_args arguments = {
        .flags = group == -1 ? 0 : CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (__u64)group};
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == -1) fail("clone3");
    if (pid == 0) {
        char *argv[] = {"/bin/true", NULL}, *envp[] = {NULL};
        setsid();
        execve(argv[0], argv, envp);
        _exit(127);
    }
    if (group != -1) close(group);
    return pid;
}

int main(int count, char **words) {
    if (count < 3) {
        fprintf(stderr, "usage: spawn_groups RUNS AT_ONCE [FOLDER]\n");
        return 64;
    }
    int runs = atoi(words[1]), at_once = atoi(words[2]), begun = 0, ended = 0;
    int folder = count > 3 ? open(words[3], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (count > 3 && folder == -1) fail(words[3]);
    if (runs < 1 || at_once < 1 || at_once > MOST) return 64;
    struct {
        pid_t pid;
        int number;
    } places[MOST] = {0};
    double before = now();
    while (ended < runs) {
        for (int i = 0; i < at_once && begun < runs; i++)
            if (places[i].pid == 0) {
                places[i].number = begun++;
                places[i].pid = start(folder, places[i].number);
            }
        pid_t pid = wait(NULL);
        for (int i = 0; i < at_once; i++) {
            if (places[i].pid != pid) continue;
            places[i].pid = 0;
            ended++;
            // The last process has just left it.
            while (folder != -1 && unlinkat(folder, name_of(places[i].number), AT_REMOVEDIR) == -1)
                if (errno != EBUSY) fail("rmdir");
        }
    }
    double passed = now() - before;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.0f runs a second, %.0f us each\n", runs / passed,
           (seconds(usage.ru_utime) + seconds(usage.ru_stime)) / runs * 1e6);
    return 0;
}
