// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "log.h"
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// How often a number may be taken by groups that could not be removed yet.
enum { NAMES = 8 };

// How often the removal of an empty group is tried, a turn of the loop each.
enum { REMOVALS = 20 };

static int place_of(const struct group *group) { return groups_place(group->is_beside); }

// The path of a file of the group.
static const char *file_of(const struct group *group, const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", group->name, name);
    return path;
}

// MARK: - Its beginning

static void say_failed(const struct run *run, const char *what, int error) {
    say("run %llu: cannot %s: %s", (unsigned long long)run->id, what, strerror(error));
}

static int limit(const struct group *group, const char *name, const char *format, uint64_t value) {
    char text[64];
    snprintf(text, sizeof text, format, (unsigned long long)value);
    return write_file(place_of(group), file_of(group, name), text);
}

// Whether it is set; says so if it is not, or takes the errno for `shortage` if it may be set later.
static bool set(const struct run *run, const char *name, const char *format, uint64_t value, int *shortage) {
    int error = limit(run->group, name, format, value);
    if (error == 0) return true;
    if (lacks_room(error)) {
        *shortage = error;
    } else {
        char what[32];
        snprintf(what, sizeof what, "set %s", name);
        say_failed(run, what, error);
    }
    return false;
}

// 0 or the errno of a limit that may be set later.
static int set_limits(const struct run *run, struct limits *limits) {
    const struct group *group = run->group;
    int shortage = 0;
    if (controllers & controller_memory && limits->memory_max != UINT64_MAX &&
        set(run, "memory.max", "%llu", limits->memory_max, &shortage)) {
        limits->memory_max = UINT64_MAX;
        // All of the run ends when one of its processes has to: half of it would go on without a word.
        set(run, "memory.oom.group", "%llu", 1, &shortage);
    }
    if (controllers & controller_memory && limits->memory_high != UINT64_MAX)
        set(run, "memory.high", "%llu", limits->memory_high, &shortage);
    if (controllers & controller_cpu && limits->cpu_weight != 0)
        set(run, "cpu.weight", "%llu", limits->cpu_weight, &shortage);
    // Of each 100 ms.
    if (controllers & controller_cpu && limits->cpu_quota != 0)
        set(run, "cpu.max", "%llu 100000", (uint64_t)limits->cpu_quota * 1000, &shortage);
    if (controllers & controller_pids && limits->tasks_max != UINT64_MAX)
        set(run, "pids.max", "%llu", limits->tasks_max, &shortage);
    if (controllers & controller_io && limits->io_weight != 0) {
        // Which of the two counts is the kernel's matter; BFQ's goes up to 1000, and is 100 where the other is.
        uint64_t weight = limits->io_weight;
        uint64_t bfq = weight <= 100 ? weight : 100 + (weight - 100) * 900 / 9900;
        int other = limit(group, "io.bfq.weight", "%llu", bfq);
        if (other != 0) set(run, "io.weight", "default %llu", weight, &shortage);
        else (void)limit(group, "io.weight", "default %llu", weight);
    }
    return shortage;
}

int make_group(struct run *run, struct limits *limits, int *folder) {
    if (!has_groups) return 0;
    struct group *group = calloc(1, sizeof *group);
    int error = group ? EEXIST : ENOMEM;
    for (int i = 0; error == EEXIST && i < NAMES; i++) {
        // One that is abandoned has the number until its last process is gone.
        snprintf(group->name, sizeof group->name, i == 0 ? "run-%llu" : "run-%llu.%d", (unsigned long long)run->id, i);
        error = mkdirat(place_of(group), group->name, 0755) == -1 ? errno : 0;
    }
    if (error == 0) {
        *folder = openat(place_of(group), group->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        // Who sends a signal with its owner's rights reads there whom it is for: the runner's mask is not meant for that.
        error = *folder == -1 || fchmodat(place_of(group), group->name, 0755, 0) == -1 ? errno : 0;
        if (error != 0) {
            if (*folder != -1) close(*folder);
            *folder = -1;
            remove_tree(place_of(group), group->name);
        }
    }
    if (error != 0) {
        free(group);
        if (lacks_room(error)) return error;
        say_failed(run, "make its control group; it has none", error);
        return 0;
    }
    group->events.descriptor = -1;
    group->run = run;
    run->group = group;
    error = set_limits(run, limits);
    if (error != 0) close(*folder);
    return error;
}

// MARK: - Its end

bool is_populated(const struct group *group) {
    char text[256];
    // What cannot be told is taken for true: the run's rules then end it.
    if (read_file(place_of(group), file_of(group, "cgroup.events"), text, sizeof text) == -1) return errno != ENOENT;
    return strstr(text, "populated 1") != NULL;
}

// The number behind `name` at the beginning of a line; `value` stays as it is where there is none.
static void take_number(const char *text, const char *name, uint64_t *value) {
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, name, length) != 0) continue;
        *value = strtoull(line + length, NULL, 10);
        return;
    }
}

static void take_usage(struct run *run) {
    const struct group *group = run->group;
    char text[1024];
    if (read_file(place_of(group), file_of(group, "cpu.stat"), text, sizeof text) > 0) {
        take_number(text, "user_usec ", &run->user_time);
        take_number(text, "system_usec ", &run->system_time);
    }
    if (!(controllers & controller_memory)) return;
    if (read_file(place_of(group), file_of(group, "memory.peak"), text, sizeof text) > 0)
        take_number(text, "", &run->peak_memory);
    uint64_t kills = 0;
    if (read_file(place_of(group), file_of(group, "memory.events"), text, sizeof text) > 0)
        take_number(text, "oom_kill ", &kills);
    if (kills > 0) run->is_out_of_memory = true;
}

static void forget_group(struct group *group) {
    loop_close(&group->events);
    free(group);
}

bool remove_group(struct run *run) {
    if (!run->group) return true;
    take_usage(run);
    if (!remove_tree(place_of(run->group), run->group->name)) return false;
    forget_group(run->group);
    run->group = NULL;
    return true;
}

// Watches a group whose run has ended; a new watch tells at once, so one that is empty already is removed at the next turn.
static void watch_anew(struct group *group) {
    loop_close(&group->events);
    if (!watch_group(group)) forget_group(group);
}

void abandon_group(struct run *run) {
    struct group *group = run->group;
    run->group = NULL;
    group->run = NULL;
    watch_anew(group);
}

static void group_changed(struct source *source) {
    struct group *group = (struct group *)source;
    // The kernel tells of a change once what was there before has been read.
    char text[256];
    ssize_t count = pread(source->descriptor, text, sizeof text - 1, 0);
    text[count > 0 ? count : 0] = 0;
    if (count > 0 && strstr(text, "populated 1")) return;
    if (group->run) return finish(group->run);
    if (remove_tree(place_of(group), group->name) || ++group->removals == REMOVALS) return forget_group(group);
    // The time was too short for all within it, or a process has come.
    watch_anew(group);
}

bool watch_group(struct group *group) {
    if (group->events.descriptor != -1) return true;
    group->events.ready = group_changed;
    group->events.descriptor = openat(place_of(group), file_of(group, "cgroup.events"), O_RDONLY | O_CLOEXEC);
    if (group->events.descriptor != -1 && loop_watch_changes(&group->events) == 0) return true;
    loop_close(&group->events);
    return false;
}

int kill_group(const struct group *group) {
    return write_file(place_of(group), file_of(group, "cgroup.kill"), "1");
}

int open_members(const struct group *group) {
    return openat(place_of(group), group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// What may be there later; the rest says that the group has gone, or has its processes in the list of one above.
static int shortage(int error) { return lacks_room(error) ? error : 0; }

static int read_list(int folder, void (*visit)(pid_t, void *), void *context) {
    int file = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    if (file == -1) return shortage(errno);
    char text[4096];
    pid_t pid = 0;
    ssize_t size;
    while ((size = read(file, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < size; i++) {
            if (text[i] != '\n') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            // 0 is a process of another namespace, which has no number here.
            if (pid > 0) visit(pid, context);
            pid = 0;
        }
    int error = size == -1 ? shortage(errno) : 0;
    close(file);
    return error;
}

static int read_tree(int folder, const char *name, int depth, void (*visit)(pid_t, void *), void *context) {
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = inner == -1 ? NULL : fdopendir(inner);
    if (!entries) {
        int error = errno;
        if (inner != -1) close(inner);
        return shortage(error);
    }
    int error = read_list(inner, visit, context);
    for (struct dirent *entry; depth > 0 && error == 0 && (entry = readdir(entries));)
        if (is_group(entry))
            error = read_tree(inner, entry->d_name, depth - 1, visit, context);
    closedir(entries);
    return error;
}

int each_member(int members, void (*visit)(pid_t, void *), void *context) {
    return read_tree(members, ".", GROUP_DEPTH, visit, context);
}
