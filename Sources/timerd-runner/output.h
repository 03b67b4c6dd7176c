// SPDX-License-Identifier: Apache-2.0
// What a run has written: of each stream its head and its tail, and in which order and when the pieces came.

#pragma once

#include "ring.h"

#include <stdbool.h>

/// A piece of a stream: it goes on to the next note of the same stream, or to the stream's end.
struct note {
    /// µs since 1970 on the wall clock.
    int64_t at;
    uint64_t stream : 1;
    /// Counted from the stream's first byte.
    uint64_t position : 63;
};

struct output {
    /// The first quarter of what is kept, and the rest: of a stream that is longer, what lies between goes.
    struct ring heads[2], tails[2];
    /// How many bytes of each stream the daemon has.
    uint64_t told[2];
    /// In the order in which the pieces came.
    struct note *notes;
    size_t note_count, note_room, note_limit;
    /// Notes before this one are told.
    size_t cursor;
    /// How far apart in µs pieces may be and still join.
    uint64_t window;
    // So that there is room for some without memory for more.
    struct note first_notes[4];
};

/// What comes of a stream at once.
struct piece {
    int stream;
    int64_t at;
    uint64_t position;
    size_t count;
};

/// How many notes there are at most where so many bytes of each stream are kept.
size_t note_limit(size_t kept);

/// Has that many bytes kept of each stream. It does not move from here on.
void output_begin(struct output *output, size_t kept);

/// Adds what came of a stream at `at`, in µs since 1970.
void output_add(struct output *output, int stream, int64_t at, const uint8_t *bytes, size_t count);

/// How many bytes came of a stream.
uint64_t output_end(const struct output *output, int stream);

/// Copies the next piece that is kept and not told, `most` bytes of it; false for none.
bool output_next(struct output *output, struct piece *piece, uint8_t *to, size_t most);

/// The piece is told.
void output_told(struct output *output, const struct piece *piece);

/// Nothing of it is told: there is another daemon.
void output_restart(struct output *output);

void output_free(struct output *output);
