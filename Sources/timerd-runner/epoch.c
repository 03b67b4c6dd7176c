// SPDX-License-Identifier: Apache-2.0
// What a runner of an epoch does not know, it was never asked for, or has told the end of: so a daemon may ask for it
// again. That holds of the next runner too where this one has ended with nothing left, or where that one knows all that was
// left (ends.c). So it hands its epoch on, in a file beside its socket; a runner that dies hands nothing on, and its runs
// count as interrupted.

#define _GNU_SOURCE
#include "epoch.h"

#include "log.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// More than its file has.
enum { LENGTH = 128 };

static uint64_t number;
// Empty where the socket has no path.
static char path[sizeof((struct sockaddr_un *)NULL)->sun_path + sizeof "-epoch"];
// After a loss of power a file that was taken may be there again: it counts for one boot. Empty if that is unknown.
static char boot[LENGTH / 2];

static void find_path(void) {
    if (place_path()[0]) snprintf(path, sizeof path, "%s-epoch", place_path());
}

static void find_boot(void) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file) return;
    if (!fgets(boot, sizeof boot, file)) boot[0] = 0;
    boot[strcspn(boot, "\n")] = 0;
    fclose(file);
}

const char *this_boot(void) {
    if (!boot[0]) find_boot();
    return boot;
}

// The epoch that was handed on; 0 for none.
static uint64_t take_file(uint64_t ends) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file == -1) return 0;
    char text[LENGTH] = {0};
    struct stat status;
    bool is_own = fstat(file, &status) == 0 && is_of_runner(&status, LENGTH - 1);
    ssize_t count = is_own ? read(file, text, sizeof text - 1) : -1;
    close(file);
    // The file is removed before its epoch counts: from this runner's first run on it would be untrue.
    if (count <= 0 || unlink(path) == -1) return 0;
    size_t length = strlen(this_boot());
    if (length == 0 || strncmp(text, boot, length) != 0 || text[length] != ' ') return 0;
    char *end;
    uint64_t found = strtoull(text + length + 1, &end, 10);
    // Ends that were kept with this epoch and are not known here would look like runs that never began.
    if (*end == ' ' && strtoull(end + 1, &end, 16) != ends) {
        say("takes a new epoch, not that of '%s': not all ends that were kept with it are known", path);
        return 0;
    }
    // A whole line, else it was written in part.
    return *end == '\n' && found <= INT64_MAX ? found : 0;
}

int take_epoch(uint64_t ends) {
    find_path();
    number = path[0] ? take_file(ends) : 0;
    // Never 0, and no more than the daemon's store can keep.
    while (number == 0) {
        if (getrandom(&number, sizeof number, 0) != sizeof number) return errno;
        number &= INT64_MAX;
    }
    return 0;
}

uint64_t epoch(void) { return number; }

// 0, or the errno.
static int write_file(uint64_t ends) {
    struct stat status;
    if (lstat(path, &status) == 0 && !is_of_runner(&status, LENGTH - 1)) return EEXIST;
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file == -1) return errno;
    char key[32] = "";
    if (ends != 0) snprintf(key, sizeof key, " %" PRIx64, ends);
    int error = dprintf(file, "%s %" PRIu64 "%s\n", boot, number, key) > 0 ? 0 : errno;
    // Some file systems say only here that there was no room.
    if (close(file) == -1 && error == 0) error = errno;
    // A file that was written in part could be taken for the epoch of a runner that has ended.
    if (error != 0) unlink(path);
    return error;
}

bool hand_epoch_on(uint64_t ends) {
    static bool is_done, is_said;
    // No runner can take the epoch if the socket has no path, or if the boot that it counts for is not known. If the socket
    // was removed no runner follows this one; if another runner has the place, the file there is that one's.
    if (is_done || !path[0] || !this_boot()[0] || is_deserted()) return true;
    int error = write_file(ends);
    is_done = error == 0;
    if (error != 0 && !is_said) say("cannot hand its epoch on in '%s': %s", path, strerror(error));
    is_said = is_said || error != 0;
    return is_done;
}
