// SPDX-License-Identifier: Apache-2.0
// Variables that one would have after a login, which the run's own process adds: its user's folder may lead to a file
// server that does not answer, or to where only others may look.

#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

IN_CHILD_BEGIN

// The variable of that name with its value; NULL for none.
static char *find_variable(char **envp, const char *name) {
    size_t length = strlen(name);
    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=') return *envp;
    return NULL;
}

// Takes `text` over, which begins with the name, unless there is one of that name.
static void add_variable(char **envp, const char *name, char *text) {
    if (find_variable(envp, name)) return;
    while (*envp) envp++;
    envp[0] = text;
    envp[1] = NULL;
}

void complete_environment(const struct plan *plan) {
    // This process has them for itself.
    static char folder[64], bus[96];
    const char *names[] = {"LANG", "TZ"};
    struct stat status;
    if (!plan->completes_environment) return;
    // As whoever started the runner has them: in a container that is all there is to say them.
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *own = find_variable(environ, names[i]);
        if (own && own[strlen(names[i]) + 1]) add_variable(plan->envp, names[i], own);
    }
    int start = (int)strlen("XDG_RUNTIME_DIR=");
    snprintf(folder, sizeof folder, "XDG_RUNTIME_DIR=/run/user/%u", geteuid());
    if (stat(folder + start, &status) == -1 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return;
    add_variable(plan->envp, "XDG_RUNTIME_DIR", folder);
    start = snprintf(bus, sizeof bus, "DBUS_SESSION_BUS_ADDRESS=unix:path=");
    snprintf(bus + start, sizeof bus - (size_t)start, "%s/bus", strchr(folder, '=') + 1);
    if (stat(bus + start, &status) == -1 || !S_ISSOCK(status.st_mode)) return;
    add_variable(plan->envp, "DBUS_SESSION_BUS_ADDRESS", bus);
}

void enter_directory(const struct plan *plan) {
    if (chdir(plan->directory) == 0) return;
    int error = errno;
    if (!plan->begins_elsewhere) fail(cspawn_step_directory, error);
    const char *variable = find_variable(plan->envp, "HOME");
    const char *home = variable ? strchr(variable, '=') + 1 : "";
    if (*home != '/' || chdir(home) == -1) home = "/";
    if (!home[1] && chdir("/") == -1) fail(cspawn_step_directory, error);
    char said[600];
    int length = snprintf(
        said, sizeof said, "timerd: cannot enter '%.250s'; this command begins in '%.250s'\n", plan->directory, home
    );
    // Nobody need read it.
    ssize_t written = write(STDERR_FILENO, said, (size_t)length);
    (void)written;
}

IN_CHILD_END
