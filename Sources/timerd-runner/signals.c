// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "run.h"

#include "CSpawn.h"
#include "session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// MARK: - With the owner's rights

enum { ERRAND_TIME = 1000000 };

// Processes that send a signal as a run's owner.
static struct errand {
    pid_t pid;
    uint64_t run;
    int ending;
    // A process that does not end is ended: its user may have stopped it, where a namespace has no strangers.
    struct alarm alarm;
} errands[ERRAND_LIMIT];
static size_t errand_count;

static void end_errand(struct alarm *alarm) {
    struct errand *errand = (struct errand *)((char *)alarm - offsetof(struct errand, alarm));
    kill(errand->pid, SIGKILL);
}

static enum answer answer_of(int answer) {
    switch (answer) {
    case cspawn_sent: return answer_sent;
    case cspawn_refused: return answer_refused;
    case cspawn_gone: return answer_gone;
    default: return answer_unknown;
    }
}

bool reap_errands(void) {
    for (size_t i = 0; i < ERRAND_LIMIT && errand_count > 0; i++) {
        int status;
        if (errands[i].pid == 0 || waitpid(errands[i].pid, &status, WNOHANG) <= 0) continue;
        errands[i].pid = 0;
        errand_count--;
        alarm_clear(&errands[i].alarm);
        int answer = WIFEXITED(status) ? WEXITSTATUS(status) : cspawn_unknown;
        take_answer(errands[i].run, errands[i].ending, answer_of(answer));
    }
    return errand_count > 0;
}

// The process group that gets a signal at once, and so before it can make more of itself; 0 for none. After the end of
// its leader the number may become another's, and a control group knows its processes anyway.
static pid_t leader_of(const struct run *run) {
    return run->group && run->phase == phase_surviving ? 0 : run->pid;
}

static bool begin_errand(struct run *run, int signal, int ending) {
    struct errand *free = errands;
    while (free < errands + ERRAND_LIMIT && free->pid != 0) free++;
    if (free == errands + ERRAND_LIMIT) return false;
    int members = run->group ? open_members(run->group) : -1;
    pid_t pid = cspawn_signal_begin(run->owner, leader_of(run), members, signal, run->phase != phase_surviving);
    if (members != -1) close(members);
    if (pid == -1) return false;
    free->pid = pid;
    free->run = run->id;
    free->ending = ending;
    free->alarm.ring = end_errand;
    alarm_set(&free->alarm, loop_now() + ERRAND_TIME);
    errand_count++;
    return true;
}

// MARK: - With the runner's own

static enum answer send_as_runner(struct run *run, int signal) {
    int members = run->group ? open_members(run->group) : -1;
    if (leader_of(run) == 0 && members == -1) return answer_unknown;
    // Its process may not have made its group yet.
    int answer = cspawn_signal_all(leader_of(run), members, signal, run->phase != phase_surviving);
    if (members != -1) close(members);
    return answer_of(answer);
}

bool send_signal(struct run *run, int signal, int ending, bool as_runner, enum answer *answer) {
    // There is no process that would be the owner's, nor a command yet.
    if (is_opening(run)) {
        *answer = answer_refused;
        return true;
    }
    // Its number may be another group's by now.
    if (run->phase == phase_surviving && !survives(run)) {
        *answer = answer_gone;
        return true;
    }
    if (run->has_owner && !as_runner) {
        if (begin_errand(run, signal, ending)) return false;
        *answer = answer_unknown;
        return true;
    }
    *answer = send_as_runner(run, signal);
    return true;
}

// MARK: - Who is left

// Whether a process has ended and waits to be reaped.
static bool is_zombie(pid_t pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return kill(pid, 0) == -1 && errno == ESRCH;
    size_t count = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[count] = 0;
    // "pid (name) state": the name may hold blanks and parentheses, what follows holds none.
    const char *end = strrchr(text, ')');
    return end && (end[2] == 'Z' || end[2] == 'X');
}

// All of a control group, which has its processes in a list; not all of those are alive.
static size_t find_in_group(const struct run *run, pid_t *members, size_t room) {
    int file = open_members(run->group);
    if (file == -1) return 0;
    size_t found = cspawn_members(file, members, room), count = 0;
    close(file);
    for (size_t i = 0; i < found; i++)
        if (!is_zombie(members[i])) members[count++] = members[i];
    return count;
}

size_t find_members(const struct run *run, pid_t *members, size_t room) {
    if (run->group) return find_in_group(run, members, room);
    size_t count = 0;
    DIR *folder = opendir("/proc");
    if (!folder) return 0;
    for (struct dirent *entry; count < room && (entry = readdir(folder));) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (getpgid(pid) == run->pid && !is_zombie(pid)) members[count++] = pid;
    }
    closedir(folder);
    return count;
}

static bool exists(pid_t process) { return kill(process, 0) == 0 || errno == EPERM; }

bool survives(const struct run *run) {
    if (run->group) return is_populated(run->group);
    // The kernel gives the number to no new process while the group has a member: a process with that number
    // means that the group is gone.
    if (exists(run->pid) || !exists(-run->pid)) return false;
    // Zombies are members until they are reaped, which not every parent does.
    pid_t one;
    return find_members(run, &one, 1) > 0;
}
