// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CSpawn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

int cspawn_is_null(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == -1 || (S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3));
}

static int send_to(const struct sockaddr_un *address, int type, const char *line, size_t size) {
    int connection = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection == -1) return errno;
    int error = connect(connection, (const struct sockaddr *)address, sizeof *address) == -1 ? errno : 0;
    if (error == 0 && send(connection, line, size, MSG_NOSIGNAL) == -1) error = errno;
    close(connection);
    return error;
}

int cspawn_syslog(const char *path, const char *name, const char *text) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return ENAMETOOLONG;
    strcpy(address.sun_path, path);
    char date[32] = "", line[2048];
    time_t now = time(NULL);
    struct tm parts;
    if (localtime_r(&now, &parts)) strftime(date, sizeof date, "%b %e %H:%M:%S", &parts);
    int count = snprintf(line, sizeof line, "<%d>%s %s[%d]: %s", LOG_DAEMON | LOG_WARNING, date, name, (int)getpid(), text);
    if (count < 0) return EINVAL;
    size_t size = (size_t)count < sizeof line ? (size_t)count : sizeof line - 1;
    int error = send_to(&address, SOCK_DGRAM, line, size);
    // Of a log that takes a stream, in which a NUL ends each line.
    return error == EPROTOTYPE ? send_to(&address, SOCK_STREAM, line, size + 1) : error;
}
