// SPDX-License-Identifier: Apache-2.0

#include "ring.h"

#include <stdlib.h>
#include <string.h>

// The byte with the number n of the stream is at n % room. So what is kept is moved when the room grows.
static void place(uint8_t *to, size_t room, uint64_t number, const uint8_t *bytes, size_t count) {
    size_t start = number % room;
    size_t first = count < room - start ? count : room - start;
    memcpy(to + start, bytes, first);
    memcpy(to, bytes + first, count - first);
}

static void grow(struct ring *ring, size_t wanted) {
    size_t room = ring->room > 0 ? ring->room : 4096;
    while (room < wanted) room *= 2;
    if (room > ring->limit) room = ring->limit;
    uint8_t *more = malloc(room);
    if (!more) return;
    uint64_t start = ring->end - ring->count;
    for (size_t done = 0; done < ring->count;) {
        size_t at = (start + done) % ring->room;
        size_t part = ring->room - at < ring->count - done ? ring->room - at : ring->count - done;
        place(more, room, start + done, ring->bytes + at, part);
        done += part;
    }
    free(ring->bytes);
    ring->bytes = more;
    ring->room = room;
}

void ring_add(struct ring *ring, const uint8_t *bytes, size_t count) {
    size_t wanted = ring->count + count;
    if (wanted > ring->limit) wanted = ring->limit;
    if (wanted > ring->room) grow(ring, wanted);
    ring->end += count;
    if (ring->room == 0) {
        ring->count = 0;
        return;
    }
    size_t kept = count < ring->room ? count : ring->room;
    place(ring->bytes, ring->room, ring->end - kept, bytes + (count - kept), kept);
    ring->count = ring->count + count < ring->room ? ring->count + count : ring->room;
}

size_t ring_copy(const struct ring *ring, uint64_t *position, uint8_t *to, size_t most) {
    uint64_t start = ring->end - ring->count;
    if (*position < start) *position = start;
    if (*position >= ring->end) return 0;
    size_t count = ring->end - *position;
    if (count > most) count = most;
    size_t at = *position % ring->room;
    size_t first = count < ring->room - at ? count : ring->room - at;
    memcpy(to, ring->bytes + at, first);
    memcpy(to + first, ring->bytes, count - first);
    return count;
}

void ring_free(struct ring *ring) {
    free(ring->bytes);
    *ring = (struct ring){.limit = ring->limit};
}
