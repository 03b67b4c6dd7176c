// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CCrashDisk.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// The system call changes the calling thread alone; the C library's function would change all.
static long become(uid_t uid) { return syscall(SYS_setresuid, -1, uid, -1); }

int test_connect_as(const char *path, uint32_t uid) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file == -1) return -1;
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (become(uid) == -1) {
        close(file);
        return -1;
    }
    int result = connect(file, (struct sockaddr *)&address, sizeof address);
    become(0);
    if (result == 0) return file;
    close(file);
    return -1;
}
