// SPDX-License-Identifier: Apache-2.0

#include "output.h"

#include <stdlib.h>
#include <string.h>

// Pieces of one stream that follow each other within this time are one, in µs.
enum { JOIN = 5000 };

// A note for 32 bytes: shorter lines than these share theirs, where there are many.
size_t note_limit(size_t kept) {
    size_t limit = kept / 32;
    return limit < 64 ? 64 : limit > 8192 ? 8192 : limit;
}

void output_begin(struct output *output, size_t kept) {
    for (int stream = 0; stream < 2; stream++) {
        output->heads[stream].limit = kept / 4;
        output->tails[stream].limit = kept - kept / 4;
        output->tails[stream].end = kept / 4;
    }
    output->notes = output->first_notes;
    output->note_room = sizeof output->first_notes / sizeof *output->first_notes;
    output->note_limit = note_limit(kept);
    output->window = JOIN;
}

uint64_t output_end(const struct output *output, int stream) {
    const struct ring *head = &output->heads[stream];
    return head->end < head->limit ? head->end : output->tails[stream].end;
}

// MARK: - Notes

static uint64_t distance(int64_t one, int64_t other) {
    // Of unsigned numbers, which may be as far apart as they like.
    return one > other ? (uint64_t)one - (uint64_t)other : (uint64_t)other - (uint64_t)one;
}

// Where a note's piece ends.
static uint64_t note_end(const struct output *output, size_t index) {
    for (size_t next = index + 1; next < output->note_count; next++)
        if (output->notes[next].stream == output->notes[index].stream) return output->notes[next].position;
    return output_end(output, output->notes[index].stream);
}

// Whether nothing of its piece is kept.
static bool is_dropped(const struct output *output, size_t index) {
    const struct note *note = &output->notes[index];
    const struct ring *tail = &output->tails[note->stream];
    return note->position >= output->heads[note->stream].end && note_end(output, index) <= tail->end - tail->count;
}

static void forget_dropped(struct output *output) {
    size_t kept = 0;
    for (size_t i = 0; i < output->note_count; i++)
        if (!is_dropped(output, i)) output->notes[kept++] = output->notes[i];
    output->note_count = kept;
}

// Of those within the window one of each stream is left.
static void join_neighbours(struct output *output) {
    size_t kept = 0;
    for (size_t i = 0; i < output->note_count;) {
        int64_t start = output->notes[i].at;
        bool is_there[2] = {false, false};
        for (; i < output->note_count && distance(output->notes[i].at, start) <= output->window; i++) {
            struct note note = output->notes[i];
            if (!is_there[note.stream]) output->notes[kept++] = note;
            is_there[note.stream] = true;
        }
    }
    output->note_count = kept;
}

// Leaves room for at least as many notes as there are then: those of what is dropped go, and then those that are nearest
// to each other in time join.
static void thin_out(struct output *output) {
    forget_dropped(output);
    if (output->note_count > output->note_room / 2) join_neighbours(output);
    while (output->note_count > output->note_room / 2) {
        output->window = output->window > UINT64_MAX / 2 ? UINT64_MAX : output->window * 2;
        join_neighbours(output);
    }
    output->cursor = 0;
}

static bool has_more_notes(struct output *output) {
    size_t room = output->note_room * 2 < output->note_limit ? output->note_room * 2 : output->note_limit;
    if (room <= output->note_room) return false;
    bool is_first = output->notes == output->first_notes;
    struct note *more = realloc(is_first ? NULL : output->notes, room * sizeof *more);
    if (!more) return false;
    if (is_first) memcpy(more, output->first_notes, sizeof output->first_notes);
    output->notes = more;
    output->note_room = room;
    return true;
}

static void add_note(struct output *output, int stream, int64_t at, uint64_t position) {
    if (output->note_count > 0) {
        const struct note *last = &output->notes[output->note_count - 1];
        if (last->stream == (unsigned)stream && distance(at, last->at) <= output->window) return;
    }
    if (output->note_count == output->note_room && !has_more_notes(output)) thin_out(output);
    output->notes[output->note_count++] =
        (struct note){.at = at, .stream = (unsigned)stream & 1, .position = position & (UINT64_MAX >> 1)};
}

void output_add(struct output *output, int stream, int64_t at, const uint8_t *bytes, size_t count) {
    struct ring *head = &output->heads[stream];
    // While its bytes are not there: it begins where those before it end.
    if (head->limit + output->tails[stream].limit > 0) add_note(output, stream, at, output_end(output, stream));
    size_t room = head->limit - (size_t)head->end;
    size_t first = count < room ? count : room;
    if (first > 0) ring_add(head, bytes, first);
    if (count > first) ring_add(&output->tails[stream], bytes + first, count - first);
}

// MARK: - What is told

// Copies what is kept of a ring between two positions.
static bool copy_between(
    const struct ring *ring, uint64_t from, uint64_t to, struct piece *piece, uint8_t *bytes, size_t most) {
    if (from >= to || from >= ring->end) return false;
    if (to - from < most) most = (size_t)(to - from);
    piece->position = from;
    piece->count = ring_copy(ring, &piece->position, bytes, most);
    if (piece->count == 0 || piece->position >= to) return false;
    if (piece->count > to - piece->position) piece->count = (size_t)(to - piece->position);
    return true;
}

bool output_next(struct output *output, struct piece *piece, uint8_t *to, size_t most) {
    for (size_t i = output->cursor; i < output->note_count; i++) {
        const struct note *note = &output->notes[i];
        int stream = note->stream;
        uint64_t from = output->told[stream] > note->position ? output->told[stream] : note->position;
        uint64_t end = note_end(output, i);
        const struct ring *head = &output->heads[stream];
        piece->stream = stream;
        piece->at = note->at;
        if (copy_between(head, from, end < head->end ? end : head->end, piece, to, most)) return true;
        if (from < head->limit) from = head->limit;
        if (copy_between(&output->tails[stream], from, end, piece, to, most)) return true;
        // The last one may become longer.
        if (i + 1 < output->note_count) output->cursor = i + 1;
    }
    return false;
}

void output_told(struct output *output, const struct piece *piece) {
    output->told[piece->stream] = piece->position + piece->count;
}

void output_restart(struct output *output) {
    output->told[0] = output->told[1] = 0;
    output->cursor = 0;
}

void output_free(struct output *output) {
    for (int stream = 0; stream < 2; stream++) {
        ring_free(&output->heads[stream]);
        ring_free(&output->tails[stream]);
    }
    if (output->notes != output->first_notes) free(output->notes);
}
