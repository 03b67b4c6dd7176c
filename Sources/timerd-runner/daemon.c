// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "daemon.h"

#include "log.h"
#include "orders.h"
#include "place.h"
#include "reports.h"
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// How soon the listener is watched again after a shortage, in µs.
enum { LISTEN_AGAIN = 1000000 };

// A daemon that does not read takes no more memory than this; what it misses is in the runs' rings.
enum { OUT_LIMIT = 256 << 10, PIECE = 32 << 10 };

// The one from the start, and one that was made since.
static struct source listeners[2] = {{.descriptor = -1}, {.descriptor = -1}};
static struct source daemon_in = {.descriptor = -1}, daemon_out = {.descriptor = -1};
static uint8_t *incoming;
static size_t incoming_count, incoming_room;
static struct buffer outgoing;
static bool is_greeted, is_waiting;
// While the daemon has not read the answers to its orders, no more of these are read.
static bool is_paused;

bool has_daemon(void) { return daemon_in.descriptor != -1; }

static void say_why(const char *what, int error) { say("%s%s%s", what, error ? ": " : "", error ? strerror(error) : ""); }

// MARK: - The connection

static void part(const char *why, int error) {
    if (why) say_why(why, error);
    loop_close(&daemon_out);
    loop_close(&daemon_in);
    free(incoming);
    free(outgoing.bytes);
    incoming = NULL;
    incoming_count = incoming_room = 0;
    outgoing = (struct buffer){0};
    is_greeted = is_waiting = is_paused = false;
    forget_news();
    // The next daemon is to find the runner: its socket's file may have been removed.
    keep_place();
}

void tell_refusal(uint64_t run, int error) {
    // Without memory for it the connection is closed: the next greeting does not name the run, which says the same.
    if (is_greeted && !put_refusal(&outgoing, run, error)) part("cannot tell the daemon of a refusal", ENOMEM);
}

static size_t unsent(void) { return outgoing.end - outgoing.start; }

static void hear_again(void);

void tell_daemon(void) {
    if (!is_greeted || is_waiting) return;
    for (;;) {
        if (is_paused && unsent() < OUT_LIMIT) hear_again();
        if (!is_greeted) return;
        for (struct run *run; unsent() < OUT_LIMIT / 2 && (run = next_news());)
            if (!put_news(&outgoing, run)) return part("cannot tell the daemon of its runs", ENOMEM);
        size_t count = unsent();
        if (count == 0) return;
        ssize_t sent = send(daemon_out.descriptor, outgoing.bytes + outgoing.start, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            outgoing.start += (size_t)sent;
        } else if (errno == EAGAIN) {
            int error = loop_watch(&daemon_out, true);
            if (error != 0) return part("cannot watch the daemon's connection", error);
            is_waiting = true;
            return;
        } else if (errno != EINTR) {
            return part(NULL, 0);
        }
    }
}

static void daemon_writable(struct source *source) {
    loop_forget(source);
    is_waiting = false;
    tell_daemon();
}

// MARK: - What it asks for

static bool make_room(size_t wanted) {
    if (wanted <= incoming_room) return true;
    uint8_t *more = realloc(incoming, wanted);
    if (!more) return false;
    incoming = more;
    incoming_room = wanted;
    return true;
}

static uint32_t size_at(const uint8_t *bytes) {
    struct reader reader = {bytes, bytes + 4, false};
    return take_u32(&reader);
}

static int carry_out_next(const uint8_t *bytes, size_t size) {
    // `hello` comes first, and once.
    if (is_hello(bytes) == is_greeted) return EPROTO;
    int error = carry_out(bytes, size, &outgoing);
    if (error == 0) is_greeted = true;
    return error;
}

// Carries out the frames that are complete, as long as there is room for the answers; parts if that is not possible.
static void carry_out_all(void) {
    size_t done = 0;
    int error = 0;
    while (error == 0 && !is_paused && incoming_count - done >= 4) {
        uint32_t size = size_at(incoming + done);
        if (size < 1 || size > FRAME_LIMIT) error = EPROTO;
        if (error != 0 || incoming_count - done - 4 < size) break;
        error = carry_out_next(incoming + done + 4, size);
        done += 4 + size;
        is_paused = unsent() >= OUT_LIMIT;
    }
    if (error == EPROTO) return part("a daemon's order cannot be understood; its connection is closed", 0);
    if (error != 0) return part("cannot answer a daemon", error);
    memmove(incoming, incoming + done, incoming_count - done);
    incoming_count -= done;
    if (is_paused) loop_forget(&daemon_in);
}

static void hear_again(void) {
    is_paused = false;
    int error = loop_watch(&daemon_in, false);
    if (error != 0) return part("cannot watch the daemon's connection", error);
    carry_out_all();
}

static void daemon_readable(struct source *source) {
    size_t wanted = incoming_count + PIECE;
    // The rest of a long frame at once.
    if (incoming_count >= 4 && size_at(incoming) + 4 > wanted) wanted = size_at(incoming) + 4;
    if (!make_room(wanted)) return part("cannot keep a daemon's order", ENOMEM);
    ssize_t count = read(source->descriptor, incoming + incoming_count, incoming_room - incoming_count);
    if (count == 0) return part(NULL, 0);
    if (count < 0) {
        bool is_gone = errno == ECONNRESET;
        if (errno != EAGAIN && errno != EINTR) part(is_gone ? NULL : "cannot read from the daemon", errno);
        return;
    }
    incoming_count += (size_t)count;
    carry_out_all();
    // A long order's room is not kept.
    if (incoming_count == 0 && incoming_room > 2 * PIECE) {
        free(incoming);
        incoming = NULL;
        incoming_room = 0;
    }
}

// Only the runner's own user, and root, may speak to it.
static bool is_trusted(int connection) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1) return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

static void listen_again(struct alarm *alarm) {
    for (int i = 0; i < 2; i++) {
        int error = listeners[i].descriptor == -1 ? 0 : loop_watch(&listeners[i], false);
        // EEXIST: this listener is watched already, and the other one was not.
        if (error != 0 && error != EEXIST) alarm_set(alarm, loop_now() + LISTEN_AGAIN);
    }
}

static void daemon_arrives(struct source *source) {
    static struct alarm again = {.ring = listen_again};
    int connection = accept4(source->descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection == -1) {
        if (!lacks_room(errno)) return;
        // The connection goes on waiting; with the watch the loop would call this again at once, without end.
        say_why("cannot take a daemon's connection yet", errno);
        loop_forget(source);
        return alarm_set(&again, loop_now() + LISTEN_AGAIN);
    }
    if (!is_trusted(connection)) {
        say("a connection of another user was closed");
        close(connection);
        return;
    }
    // The newest one counts: the one before may be of a daemon that hangs.
    part(NULL, 0);
    daemon_in = (struct source){connection, daemon_readable};
    daemon_out = (struct source){fcntl(connection, F_DUPFD_CLOEXEC, 0), daemon_writable};
    int error = daemon_out.descriptor == -1 ? errno : loop_watch(&daemon_in, false);
    if (error != 0) part("cannot take a daemon's connection", error);
}

int listen_to_daemons(int descriptor) {
    struct source *listener = &listeners[listeners[0].descriptor == -1 ? 0 : 1];
    loop_close(listener);
    *listener = (struct source){descriptor, daemon_arrives};
    int error = loop_watch(listener, false);
    if (error != 0) listener->descriptor = -1;
    return error;
}
