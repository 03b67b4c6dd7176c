// SPDX-License-Identifier: Apache-2.0
// The process that opens a run's PAM session, starts its command, and closes the session.
//
// It is forked plainly, for PAM's modules change their process (limits, loginuid, keyring), and load PAM there alone.

#define _GNU_SOURCE
#include "groups.h"
#include "session.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GROUPS = 4096, FIRST = 3, KEPT = 6, JOIN_SESSION_KEYRING = 1 };

// libpam, once it is loaded.
static struct {
    int (*start)(const char *, const char *, const struct pam_conv *, pam_handle_t **);
    int (*set_item)(pam_handle_t *, int, const void *);
    int (*acct_mgmt)(pam_handle_t *, int);
    int (*setcred)(pam_handle_t *, int);
    int (*open_session)(pam_handle_t *, int);
    int (*close_session)(pam_handle_t *, int);
    int (*end)(pam_handle_t *, int);
    char **(*getenvlist)(pam_handle_t *);
    const char *(*strerror)(pam_handle_t *, int);
} pam;

static _Noreturn void fail(int status, int error, const char *what, const char *why) {
    struct cspawn_report report = {.step = cspawn_step_session_opening, .error = error, .file = -1};
    int count = snprintf(report.head, sizeof report.head, "%s: %s", what, why);
    report.head_count = count < (int)sizeof report.head ? count : (int)sizeof report.head - 1;
    ssize_t written = write(status, &report, sizeof report);
    (void)written;
    _exit(1);
}

static void load(int status) {
    // For its modules, too: some name no library of their own, as whoever asks PAM is usually linked with it.
    void *library = dlopen("libpam.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (!library) fail(status, PAM_OPEN_ERR, "libpam.so.0", "cannot be loaded");
    const struct {
        const char *name;
        void *place;
    } names[] = {
        {"pam_start", &pam.start},
        {"pam_set_item", &pam.set_item},
        {"pam_acct_mgmt", &pam.acct_mgmt},
        {"pam_setcred", &pam.setcred},
        {"pam_open_session", &pam.open_session},
        {"pam_close_session", &pam.close_session},
        {"pam_end", &pam.end},
        {"pam_getenvlist", &pam.getenvlist},
        {"pam_strerror", &pam.strerror},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(library, names[i].name);
        if (!symbol) fail(status, PAM_SYMBOL_ERR, names[i].name, "is missing in libpam.so.0");
        memcpy(names[i].place, &symbol, sizeof symbol);
    }
}

// Nobody could answer a question.
static int answer(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
    (void)count, (void)messages, (void)responses, (void)data;
    return PAM_CONV_ERR;
}

static void check(pam_handle_t *handle, int status, const char *call, int code) {
    if (code == PAM_SUCCESS) return;
    const char *why = pam.strerror(handle, code);
    pam.end(handle, code);
    fail(status, code, call, why ? why : "an error without a name");
}

// As after its start, but for descriptors: what the runner has is not this process's, nor a module's.
static void arrange(int *kept) {
    for (int i = 0; i < KEPT; i++)
        if (kept[i] != -1 && kept[i] < FIRST + KEPT) kept[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, FIRST + KEPT);
    for (int i = 0; i < KEPT; i++) {
        // What the runner has at that number goes too.
        if (kept[i] == -1) {
            close(FIRST + i);
            continue;
        }
        dup3(kept[i], FIRST + i, O_CLOEXEC);
        kept[i] = FIRST + i;
    }
    syscall(SYS_close_range, FIRST + KEPT, ~0U, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
}

// As a command has it without a session, unless a module sets another. The runner's own is as high as it may be.
static void lower_open_files(rlim_t soft) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (soft < limit.rlim_cur) limit.rlim_cur = soft;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool is_same_variable(const char *one, const char *other) {
    size_t length = strcspn(one, "=");
    return strncmp(one, other, length) == 0 && other[length] == '=';
}

static size_t count_of(char *const *variables) {
    size_t count = 0;
    while (variables && variables[count]) count++;
    return count;
}

// What is given, and PAM's variables beside it; `all` has room for both, and for the NULL behind them.
static void merge(char **all, char *const *given, char **of_pam) {
    size_t count = 0;
    for (; given[count]; count++) all[count] = given[count];
    for (; of_pam && *of_pam; of_pam++) {
        size_t place = 0;
        while (place < count && !is_same_variable(*of_pam, all[place])) place++;
        if (place == count) all[count++] = *of_pam;
    }
    all[count] = NULL;
}

_Noreturn void run_session(const struct plan *given, int control, int status, const char *service,
                           const char *user) {
    struct plan plan = *given;
    enter_sessions();
    int kept[KEPT] = {control, status, plan.stdio[0], plan.stdio[1], plan.stdio[2], plan.has_group ? plan.group : -1};
    arrange(kept);
    (control = kept[0], status = kept[1], plan.group = kept[5]);
    memcpy(plan.stdio, kept + 2, sizeof plan.stdio);
    // Of its own, which the command has too: with the runner's it could read and revoke root's keys.
    if (syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL) == -1 && errno != ENOSYS && errno != EPERM && errno != EACCES)
        fail(status, errno, "session keyring", strerror(errno));
    lower_open_files(plan.open_files);
    load(status);
    pam_handle_t *handle = NULL;
    const struct pam_conv conversation = {answer, NULL};
    int code = pam.start(service, user, &conversation, &handle);
    if (code != PAM_SUCCESS) fail(status, code, "pam_start", pam.strerror(NULL, code));
    // Modules such as pam_access look at the terminal. There is none: as cron does, this gives its name.
    check(handle, status, "pam_set_item", pam.set_item(handle, PAM_TTY, service));
    check(handle, status, "pam_acct_mgmt", pam.acct_mgmt(handle, PAM_SILENT));
    // Before the credentials, to which modules may add groups.
    if (syscall(SYS_setgroups, plan.group_count, plan.groups) == -1 || setegid(plan.gid) == -1)
        check(handle, status, "groups", PAM_CRED_ERR);
    check(handle, status, "pam_setcred", pam.setcred(handle, PAM_ESTABLISH_CRED | PAM_SILENT));
    code = pam.open_session(handle, PAM_SILENT);
    if (code != PAM_SUCCESS) pam.setcred(handle, PAM_DELETE_CRED | PAM_SILENT);
    check(handle, status, "pam_open_session", code);
    static gid_t groups[GROUPS];
    int group_count = getgroups(GROUPS, groups);
    if (group_count >= 0) (plan.groups = groups, plan.group_count = (size_t)group_count);
    char **of_pam = pam.getenvlist(handle);
    char **all = calloc(count_of(plan.envp) + count_of(of_pam) + LOGIN_VARIABLES + 1, sizeof *all);
    if (!all) fail(status, PAM_BUF_ERR, "environment", strerror(ENOMEM));
    merge(all, plan.envp, of_pam);
    plan.envp = all;
    plan.completes_environment = true;

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    struct {
        int32_t pid;
        uint64_t peak;
    } beginning = {.peak = (uint64_t)usage.ru_maxrss * 1024};
    int error = spawn_beside(&plan, status, control, &beginning.pid);
    if (error == 0) error = write(control, &beginning, sizeof beginning) == sizeof beginning ? 0 : errno;
    if (error != 0) {
        struct cspawn_report report = {.step = cspawn_step_none, .error = error, .file = -1};
        ssize_t written = write(status, &report, sizeof report);
        (void)written;
    }
    // What the command has, this process must not keep open.
    for (int i = 1; i < KEPT; i++)
        if (kept[i] != -1) close(kept[i]);
    // The runner's end is closed once the run is over, or the runner is.
    struct pollfd end = {.fd = control, .events = 0};
    while (error == 0 && !(end.revents & POLLHUP)) poll(&end, 1, -1);
    pam.close_session(handle, PAM_SILENT);
    pam.setcred(handle, PAM_DELETE_CRED | PAM_SILENT);
    pam.end(handle, PAM_SUCCESS);
    _exit(0);
}
