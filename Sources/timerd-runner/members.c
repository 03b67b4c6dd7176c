// SPDX-License-Identifier: Apache-2.0
// Who is left of a run.

#define _GNU_SOURCE
#include "signals.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Whether /proc has the processes by the numbers that they have here: it may be that of the namespace outside (unshare -p
// without --mount-proc), or an empty folder.
static bool shows_own_numbers(void) {
    char text[16];
    ssize_t count = readlink("/proc/self", text, sizeof text - 1);
    text[count > 0 ? count : 0] = 0;
    return atoi(text) == getpid();
}

// Whether a process has ended and waits to be reaped. One whose first thread has ended looks the same, but has others.
static bool is_zombie(pid_t pid) {
    char path[32], text[512];
    if (!shows_own_numbers()) return kill(pid, 0) == -1 && errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return kill(pid, 0) == -1 && errno == ESRCH;
    size_t count = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[count] = 0;
    // "pid (name) state ...": the name may hold blanks and parentheses, what follows holds none. The threads are 17 words on.
    const char *end = strrchr(text, ')');
    char state;
    long threads;
    if (!end || sscanf(end + 1, " %c%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%ld", &state, &threads) != 2) return false;
    return (state == 'Z' || state == 'X') && threads <= 1;
}

struct living {
    pid_t *members;
    size_t count, room;
};

static void add_living(pid_t pid, void *context) {
    struct living *living = context;
    if (living->count < living->room && !is_zombie(pid)) living->members[living->count++] = pid;
}

// All of a control group, which has its processes in a list; not all of those are alive.
static size_t find_in_group(const struct run *run, pid_t *members, size_t room) {
    struct living living = {.members = members, .room = room};
    int folder = open_members(run->group);
    if (folder == -1) return 0;
    (void)each_member(folder, add_living, &living);
    close(folder);
    return living.count;
}

// Whether they could be looked for; the runner may have no descriptor or memory for that now, or no /proc.
static bool find_in_process_group(const struct run *run, pid_t *members, size_t room, size_t *count) {
    *count = 0;
    DIR *folder = shows_own_numbers() ? opendir("/proc") : NULL;
    if (!folder) return false;
    for (struct dirent *entry; *count < room && (entry = readdir(folder));) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (getpgid(pid) == run->pid && !is_zombie(pid)) members[(*count)++] = pid;
    }
    closedir(folder);
    return true;
}

size_t find_members(const struct run *run, pid_t *members, size_t room) {
    if (run->group) return find_in_group(run, members, room);
    size_t count;
    (void)find_in_process_group(run, members, room, &count);
    return count;
}

static bool exists(pid_t process) { return kill(process, 0) == 0 || errno == EPERM; }

bool survives(const struct run *run) {
    if (run->group) return is_populated(run->group);
    // The kernel gives the number to no new process while the group has a member: a process with that number
    // means that the group is gone.
    if (exists(run->pid) || !exists(-run->pid)) return false;
    // Zombies are members until they are reaped, which not every parent does. What cannot be told is taken for true, as of a
    // control group: the run's rules then end it.
    pid_t one;
    size_t count;
    return !find_in_process_group(run, &one, 1, &count) || count > 0;
}
