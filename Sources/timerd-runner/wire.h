// SPDX-License-Identifier: Apache-2.0
// Frames between daemon and runner: docs/runner-protocol.md. Integers are little-endian.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The version that this runner speaks, and all before it. A version adds to the one before, and changes nothing of it: what
/// it adds is said only to a daemon whose `hello` has that version or a higher one.
enum { PROTOCOL_VERSION = 1 };

/// The release that this is part of: `timerdVersion` of TimerControl, which a test compares.
#define RELEASE "0.1.0"

/// The longest frame that is read: a command's words, its environment and its input.
enum { FRAME_LIMIT = 8 << 20 };

/// What the daemon says.
enum order {
    order_hello = 1,
    order_start = 2,
    order_end = 3,
    order_stored = 4,
    order_leave = 5,
    order_end_all = 6,
    order_passed = 7,
    order_ping = 8,
};

/// What the runner says.
enum report {
    report_welcome = 129,
    report_known = 130,
    report_synced = 131,
    report_refused = 132,
    report_started = 133,
    report_output = 134,
    report_signalled = 135,
    report_outlasted = 136,
    report_ended = 137,
    report_groups = 138,
    report_pong = 139,
};

/// What tells bytes from others, where nobody wants two to be the same (FNV-1a); never 0.
uint64_t hash_of(const void *bytes, size_t count);

/// What is left of a frame. What is not there reads as zero, and the frame as failed from there on.
struct reader {
    const uint8_t *at, *end;
    bool failed;
};

/// Bytes within a frame.
struct span {
    const uint8_t *bytes;
    uint32_t count;
};

uint8_t take_u8(struct reader *reader);
uint32_t take_u32(struct reader *reader);
uint64_t take_u64(struct reader *reader);
struct span take_bytes(struct reader *reader);

/// Whether the frame was read to its end, with nothing missing and nothing left.
bool is_read(const struct reader *reader);

/// Bytes that are on their way out.
struct buffer {
    uint8_t *bytes;
    size_t start, end, room;
};

/// Begins a frame; returns where it begins. Without memory the buffer is unchanged and the result SIZE_MAX.
///
/// `size` bytes of body fit without asking again.
size_t begin_frame(struct buffer *buffer, enum report report, size_t size);

void put_u8(struct buffer *buffer, uint8_t value);
void put_u32(struct buffer *buffer, uint32_t value);
void put_u64(struct buffer *buffer, uint64_t value);
void put_bytes(struct buffer *buffer, const void *bytes, uint32_t count);

/// States the frame's length, now that it is complete.
void end_frame(struct buffer *buffer, size_t start);
