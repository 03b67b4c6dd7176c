// SPDX-License-Identifier: Apache-2.0
// Variables from files, which the command's own process reads: with its owner's rights, and seen by nobody else.

#define _GNU_SOURCE
#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The most bytes that a file may have: the kernel takes little more for all variables of a process.
enum { LARGEST = 1 << 20 };

// As sysexits.h has them, and for a command that cannot be run as env(1).
enum { BAD_DATA = 65, UNREADABLE = 66, NOT_RUN = 126, NOT_FOUND = 127 };

// Where there is no PATH, as `PlainPath` has it.
#define PLAIN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct text {
    const char *path;
    char *at;
    int line;
};

static _Noreturn void refuse(int status, const char *form, ...) {
    va_list values;
    va_start(values, form);
    fputs("timerd: --env-file ", stderr);
    vfprintf(stderr, form, values);
    fputc('\n', stderr);
    va_end(values);
    exit(status);
}

static _Noreturn void refuse_line(const struct text *text, const char *what) {
    // Not the line itself: it may be a secret, and what is written here is kept.
    refuse(BAD_DATA, "%s: line %d %s", text->path, text->line, what);
}

// All of a file, with a NUL behind it; NULL if there is none and there need not be.
static char *contents(const char *path, bool may_lack) {
    // A pipe would be waited for until somebody writes to it, which may be never; a terminal would become the session's.
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file == -1 && errno == ENOENT && may_lack) return NULL;
    struct stat status;
    if (file != -1 && fstat(file, &status) == 0 && S_ISFIFO(status.st_mode))
        refuse(UNREADABLE, "%s: it is a pipe, and no file", path);
    char *bytes = file == -1 ? NULL : malloc(LARGEST + 1);
    size_t count = 0;
    while (bytes != NULL && count <= LARGEST) {
        ssize_t more = read(file, bytes + count, LARGEST + 1 - count);
        if (more == 0) break;
        if (more > 0)
            count += (size_t)more;
        else if (errno != EINTR) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (bytes == NULL) refuse(UNREADABLE, "%s: %s", path, strerror(errno));
    close(file);
    if (count > LARGEST) refuse(BAD_DATA, "%s: it has more than %d bytes", path, LARGEST);
    bytes[count] = 0;
    if (strlen(bytes) != count) refuse(BAD_DATA, "%s: it has a NUL, and is no text", path);
    return bytes;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool is_of_name(char c, bool is_first) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!is_first && c >= '0' && c <= '9');
}

static void skip_blanks(struct text *text) {
    while (is_blank(*text->at)) text->at++;
}

// Takes NAME and the sign behind it; what follows the name is overwritten.
static char *take_name(struct text *text) {
    if (strncmp(text->at, "export ", 7) == 0) text->at += 7;
    skip_blanks(text);
    char *name = text->at;
    while (is_of_name(*text->at, text->at == name)) text->at++;
    if (text->at == name || *text->at != '=') refuse_line(text, "is not NAME=value");
    *text->at++ = 0;
    return name;
}

// Takes a value in quotes, in place; a backslash is one but before what has a meaning within double quotes.
static char *take_quoted(struct text *text) {
    char quote = *text->at++;
    char *value = text->at, *end = value;
    int first = text->line;
    for (; *text->at != quote; text->at++) {
        if (*text->at == 0) {
            text->line = first;
            refuse_line(text, "begins a quote that does not end");
        }
        if (*text->at == '\n') text->line++;
        if (quote == '"' && *text->at == '\\' && text->at[1] != 0 && strchr("\"\\$`", text->at[1]) != NULL) text->at++;
        *end++ = *text->at;
    }
    text->at++;
    skip_blanks(text);
    if (*text->at != '\n' && *text->at != 0) refuse_line(text, "has more behind its quote");
    if (*text->at == '\n') text->at++;
    *end = 0;
    return value;
}

// Takes the rest of the line as it is, without the blanks around it.
static char *take_plain(struct text *text) {
    char *value = text->at, *end = value + strcspn(value, "\n");
    text->at = *end == 0 ? end : end + 1;
    while (end > value && is_blank(end[-1])) end--;
    *end = 0;
    return value;
}

// `keeps_own`: whether files change no variable of timerd's own.
static void read_variables(const char *path, bool keeps_own) {
    bool may_lack = path[0] == '-';
    struct text text = {.path = path + may_lack, .line = 1};
    char *bytes = contents(text.path, may_lack);
    if (bytes == NULL) return;
    for (text.at = bytes; *text.at != 0; text.line++) {
        skip_blanks(&text);
        if (*text.at == '#' || *text.at == ';' || *text.at == '\n' || *text.at == 0) {
            take_plain(&text);
            continue;
        }
        const char *name = take_name(&text);
        skip_blanks(&text);
        bool is_quoted = *text.at == '"' || *text.at == '\'';
        const char *value = is_quoted ? take_quoted(&text) : take_plain(&text);
        bool stays = keeps_own && strncmp(name, "TIMERD_", 7) == 0;
        if (setenv(name, value, !stays) == -1) refuse(UNREADABLE, "%s: %s", text.path, strerror(errno));
    }
    free(bytes);
}

// Becomes a file of that name in the first absolute folder of PATH that has one which may be executed, as `CommandLookup`
// and `execute` have it: what is relative, or empty, would be the working directory, which may be anybody's. Else the errno.
static int become_from_path(char **command) {
    const char *path = getenv("PATH");
    bool is_forbidden = false;
    for (const char *next = path == NULL ? PLAIN_PATH : path; next != NULL;) {
        const char *folder = next;
        size_t length = strcspn(folder, ":");
        next = folder[length] == 0 ? NULL : folder + length + 1;
        if (folder[0] != '/') continue;
        char *file;
        if (asprintf(&file, "%.*s/%s", (int)length, folder, *command) == -1) return ENOMEM;
        execve(file, command, environ);
        int error = errno;
        struct stat status = {0};
        bool may_run = error != EACCES || faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0;
        // What is missing may be its interpreter: it is the one that was meant.
        if (stat(file, &status) == 0 && S_ISREG(status.st_mode) && may_run) return error;
        is_forbidden |= error == EACCES && !S_ISDIR(status.st_mode);
        free(file);
    }
    return is_forbidden ? EACCES : ENOENT;
}

_Noreturn void run_with_environment(char **words) {
    bool keeps_own = *words != NULL && strcmp(*words, KEEPING_OWN) == 0;
    if (keeps_own) words++;
    for (; *words != NULL && strcmp(*words, "--") != 0; words++) read_variables(*words, keeps_own);
    char **command = *words == NULL ? words : words + 1;
    if (*command == NULL) {
        fprintf(stderr, "timerd-runner: " WITH_ENVIRONMENT " needs files, '--' and a command\n");
        exit(64);
    }
    bool is_file = strchr(*command, '/') != NULL;
    if (is_file) execve(*command, command, environ);
    int error = is_file ? errno : become_from_path(command);
    fprintf(stderr, "timerd: cannot run '%s': %s\n", *command, strerror(error));
    exit(error == ENOENT ? NOT_FOUND : NOT_RUN);
}
