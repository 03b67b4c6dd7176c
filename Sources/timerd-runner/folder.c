// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { TRIES = 3 };

// How long one try to remove a group with all within it may take, in µs: nothing else is minded meanwhile.
enum { REMOVAL_TIME = 100000 };

bool has_groups;
unsigned controllers;
char groups_lack[512];

// The runner's own group as it began, and its folder there.
static int own = -1, base = -1;
static char own_path[PATH_MAX], base_name[64];

int groups_place(bool is_beside) { return is_beside ? own : base; }

// MARK: - Files

int write_file(int folder, const char *path, const char *text) {
    int file = openat(folder, path, O_WRONLY | O_CLOEXEC);
    if (file == -1) return errno;
    ssize_t count = write(file, text, strlen(text));
    int error = count == -1 ? errno : 0;
    close(file);
    return error;
}

ssize_t read_file(int folder, const char *path, char *text, size_t room) {
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file == -1) return -1;
    ssize_t count = read(file, text, room - 1);
    close(file);
    text[count > 0 ? count : 0] = 0;
    return count;
}

bool is_group(const struct dirent *entry) {
    return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

// Removes the groups within an open one, up to the first that is not empty: `busy` becomes its name, or empty where
// there is none. How many, or -1 where one cannot be removed or the time is over.
static long remove_within(int folder, char *busy, int64_t end) {
    busy[0] = 0;
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy == -1 ? NULL : fdopendir(copy);
    if (!entries && copy != -1) close(copy);
    if (!entries) return -1;
    long count = 0;
    for (struct dirent *entry; count != -1 && !busy[0] && (entry = readdir(entries));) {
        if (!is_group(entry)) continue;
        if (unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            count = loop_now() < end ? count + 1 : -1;
        else if (errno == EBUSY && loop_now() < end)
            snprintf(busy, NAME_MAX + 1, "%s", entry->d_name);
        else
            count = -1;
    }
    closedir(entries);
    return count;
}

bool remove_tree(int folder, const char *name) {
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    // A run of one's own user may have made groups within its own, however deep: the deepest go first, and ".." leads
    // back up from them.
    int64_t end = loop_after(REMOVAL_TIME);
    int at = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char busy[NAME_MAX + 1];
    long depth = 0;
    bool is_down = true;
    while (at != -1) {
        long count = remove_within(at, busy, end);
        bool goes_down = busy[0];
        // One that is not empty and has no groups within it has processes.
        bool is_over = !goes_down && (depth == 0 || (is_down && count == 0));
        const char *way = goes_down ? busy : "..";
        int next = count == -1 || is_over ? -1 : openat(at, way, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
        depth += goes_down ? 1 : -1;
        is_down = goes_down;
    }
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

// MARK: - The runner's own group

// What is missing is told to users, so it is a sentence.
__attribute__((format(printf, 1, 2))) static void lack(const char *format, ...) {
    size_t used = strlen(groups_lack);
    va_list values;
    va_start(values, format);
    if (used > 0) used += (size_t)snprintf(groups_lack + used, sizeof groups_lack - used, "; ");
    if (used < sizeof groups_lack) vsnprintf(groups_lack + used, sizeof groups_lack - used, format, values);
    va_end(values);
}

// mountinfo has blanks and the like as \040: proc(5).
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from; to++) {
        bool is_escape = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3];
        *to = is_escape ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0')) : *from;
        from += is_escape ? 4 : 1;
    }
    *to = 0;
}

// The runner's group as the kernel names it: the line "0::/path".
static bool read_own(char *path) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return false;
    char line[PATH_MAX + 8];
    bool is_found = false;
    while (!is_found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        is_found = strncmp(line, "0::/", 4) == 0;
    }
    fclose(file);
    // What is outside of the namespace has no path in it.
    if (!is_found || strstr(line, "/..")) return false;
    strcpy(path, line + 3);
    return true;
}

// Where a mount shows the group; false if this line is none of cgroup v2, or shows other groups.
static bool shown_by(char *line, const char *group, char *path) {
    char *type = strstr(line, " - cgroup2 ");
    char root[PATH_MAX], point[PATH_MAX];
    if (!type || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2) return false;
    unescape(root);
    unescape(point);
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(group, root, length) != 0 || (group[length] != '/' && group[length] != 0)) return false;
    const char *rest = strcmp(group + length, "/") == 0 ? "" : group + length;
    return snprintf(path, PATH_MAX, "%s%s", point, rest) < PATH_MAX;
}

// The runner's group in the file system, into `own_path`; false with the reason.
static bool find_own(char *group) {
    if (!read_own(group)) {
        lack("this process is in no group of cgroup v2");
        return false;
    }
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[3 * PATH_MAX];
    while (file && own == -1 && fgets(line, sizeof line, file))
        if (shown_by(line, group, own_path)) own = open(own_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file) fclose(file);
    if (own == -1) lack("cgroup v2 is not mounted");
    return own != -1;
}

// systemd owns all groups that it has not delegated, though root could write to them.
static bool is_delegated(const char *group) {
    char value[8];
    struct stat status;
    if (strcmp(group, "/") == 0 || stat("/run/systemd/system", &status) == -1) return true;
    // A user's manager does not mark what it delegates (systemd 252), and its unit says so itself.
    if (geteuid() != 0 && getenv("TIMERD_DELEGATED")) return true;
    return fgetxattr(own, "trusted.delegate", value, sizeof value) > 0 ||
           fgetxattr(own, "user.delegate", value, sizeof value) > 0;
}

// MARK: - Its folder

// Makes the folder and enters it; 0 or the errno. ENOENT: another runner has just taken it for one that is left.
static int make_base(uint64_t key) {
    uint32_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return errno;
    snprintf(base_name, sizeof base_name, "timerd-%016llx-%08x", (unsigned long long)key, random);
    if (mkdirat(own, base_name, 0755) == -1) return errno;
    base = openat(own, base_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = base == -1 || mkdirat(base, "runner", 0755) == -1 ? errno : 0;
    if (error == 0) error = write_file(base, "runner/cgroup.procs", "0");
    if (error == 0 && faccessat(base, "runner/cgroup.kill", W_OK, 0) == -1) error = ENOSYS;
    return error == ENODEV ? ENOENT : error;
}

static void remove_base(void) {
    char pid[16];
    snprintf(pid, sizeof pid, "%d", getpid());
    // Not where others' controllers are in the way; then the folder stays until it is found by the next runner.
    write_file(own, "cgroup.procs", pid);
    if (base != -1) close(base);
    base = -1;
    remove_tree(own, base_name);
}

static const struct {
    const char *name;
    enum controller controller;
    // What a group has to have, in the kernel as it was built.
    const char *files[2];
} known[] = {
    {"memory", controller_memory, {"runner/memory.max", NULL}},
    {"cpu", controller_cpu, {"runner/cpu.max", NULL}},
    {"pids", controller_pids, {"runner/pids.max", NULL}},
    {"io", controller_io, {"runner/io.weight", "runner/io.bfq.weight"}},
};

static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\n' || at[length] == 0)) return true;
    return false;
}

static void hand_down(void) {
    char there[1024] = "", missing[64] = "";
    read_file(own, "cgroup.controllers", there, sizeof there);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!has_word(there, known[i].name)) {
            if (missing[0]) strcat(missing, ", ");
            strcat(missing, known[i].name);
            continue;
        }
        char word[16];
        snprintf(word, sizeof word, "+%s", known[i].name);
        int error = write_file(own, "cgroup.subtree_control", word);
        if (error == 0) error = write_file(base, "cgroup.subtree_control", word);
        bool is_there = false;
        for (int j = 0; j < 2; j++)
            is_there |= known[i].files[j] && faccessat(base, known[i].files[j], W_OK, 0) == 0;
        if (error == EBUSY)
            lack("controller %s: other processes are in control group '%s'", known[i].name, own_path);
        else if (error != 0)
            lack("controller %s: %s in '%s/cgroup.subtree_control'", known[i].name, strerror(error), own_path);
        else if (!is_there)
            lack("controller %s: the kernel has no %s", known[i].name, strchr(known[i].files[0], '/') + 1);
        else
            controllers |= known[i].controller;
    }
    if (missing[0]) lack("not in '%s/cgroup.controllers': %s", own_path, missing);
}

// MARK: - What others have left

// Ends and removes what an earlier runner has left. One that lives cannot lose the group that it is in.
static void sweep(void) {
    int copy = openat(own, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy == -1 ? NULL : fdopendir(copy);
    if (!entries) return;
    // Without the random part.
    size_t length = strrchr(base_name, '-') - base_name + 1;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[320];
        if (strncmp(entry->d_name, "timerd-", 7) != 0 || strcmp(entry->d_name, base_name) == 0) continue;
        snprintf(path, sizeof path, "%s/runner", entry->d_name);
        if (unlinkat(own, path, AT_REMOVEDIR) == -1 && errno != ENOENT) continue;
        // The runs of another daemon's runner are not for this one to end.
        bool is_mine = strncmp(entry->d_name, base_name, length) == 0;
        snprintf(path, sizeof path, "%s/cgroup.kill", entry->d_name);
        if (is_mine) write_file(own, path, "1");
        struct group *group = calloc(1, sizeof *group);
        if (!group) continue;
        group->events.descriptor = -1;
        group->is_beside = true;
        snprintf(group->name, sizeof group->name, "%s", entry->d_name);
        if (!is_populated(group)) remove_tree(own, group->name);
        // Watched even if it is empty now: it is removed when it is told.
        if (!is_mine || faccessat(own, group->name, F_OK, 0) == -1 || !watch_group(group)) free(group);
    }
    closedir(entries);
}

// MARK: -

void groups_open(uint64_t key) {
    char group[PATH_MAX + 8];
    if (!find_own(group)) return;
    if (!is_delegated(group)) {
        lack("control group '%s' is not delegated: its unit has no Delegate=yes", group);
        return;
    }
    int error = ENOENT;
    for (int i = 0; i < TRIES && error == ENOENT; i++) {
        error = make_base(key);
        if (error != 0) remove_base();
    }
    if (error == ENOSYS) return lack("the kernel has no cgroup.kill, which Linux 5.14 has");
    if (error != 0) return lack("cannot make a control group in '%s': %s", own_path, strerror(error));
    has_groups = true;
    hand_down();
    sweep();
}

void enter_sessions(void) {
    if (!has_groups) return;
    (void)mkdirat(base, "sessions", 0755);
    (void)write_file(base, "sessions/cgroup.procs", "0");
}

void groups_close(void) {
    if (has_groups) remove_base();
}
