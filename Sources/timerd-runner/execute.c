// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

IN_CHILD_BEGIN

// Reports the error and exits if the file exists and may be executed: then it is the one that was
// meant. What is missing may be its interpreter, which its first line names.
static void judge(const char *path, int index, struct cspawn_report *report) {
    struct stat file;
    if (stat(path, &file) == -1) return;
    if (S_ISDIR(file.st_mode)) report->error = EISDIR;
    if (!S_ISREG(file.st_mode)) return;
    if (report->error == EACCES && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == -1) return;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = descriptor == -1 ? -1 : read(descriptor, report->head, sizeof report->head);
    report->head_count = count > 0 ? (int32_t)count : 0;
    report->file = index;
    give_up(STATUS, report);
}

_Noreturn void execute(const struct plan *plan) {
    struct cspawn_report report = {.step = cspawn_step_exec, .error = ENOENT, .file = -1};
    bool isForbidden = false;
    for (int i = 0; plan->files[i]; i++) {
        execve(plan->files[i], plan->argv, plan->envp);
        report.error = errno;
        judge(plan->files[i], i, &report);
        if (report.error == EACCES) isForbidden = true;
    }
    if (isForbidden) report.error = EACCES;
    give_up(STATUS, &report);
}

IN_CHILD_END
