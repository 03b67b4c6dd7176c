// SPDX-License-Identifier: Apache-2.0
// The last bytes of a stream.

#pragma once

#include <stddef.h>
#include <stdint.h>

/// The last `limit` bytes of a stream. It takes memory only for what came.
struct ring {
    uint8_t *bytes;
    size_t room, limit;
    /// How many bytes came in all.
    uint64_t end;
    /// How many of the last ones are kept.
    size_t count;
};

/// Adds bytes; the oldest go where there are more than `limit`.
///
/// Without memory for more it keeps as many as it has room for.
void ring_add(struct ring *ring, const uint8_t *bytes, size_t count);

/// Copies what is kept from `position` on, counted from the stream's first byte, `most` bytes at most.
///
/// - Returns: how many; `position` is moved to the first of them, if those before it are gone.
size_t ring_copy(const struct ring *ring, uint64_t *position, uint8_t *to, size_t most);

void ring_free(struct ring *ring);
