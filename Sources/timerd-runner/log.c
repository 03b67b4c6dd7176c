// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "log.h"

#include "CSpawn.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

// Longer than the longest path, with words about it.
enum { LINE = 1024 };

void say(const char *format, ...) {
    char line[LINE + 1];
    va_list values;
    va_start(values, format);
    int count = vsnprintf(line, LINE, format, values);
    va_end(values);
    if (count < 0) return;
    if (cspawn_is_null(STDERR_FILENO)) {
        // Nothing can be done where there is none.
        (void)cspawn_syslog("/dev/log", "timerd-runner", line);
        return;
    }
    // A pipe with room takes that much at once.
    struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&errors, 1, 0) == 1 && errors.revents & POLLOUT) dprintf(STDERR_FILENO, "timerd-runner: %s\n", line);
}
