// SPDX-License-Identifier: Apache-2.0

#include "wire.h"

#include <stdlib.h>
#include <string.h>

uint64_t hash_of(const void *bytes, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash == 0 ? 1 : hash;
}

static const uint8_t *take(struct reader *reader, size_t count) {
    static const uint8_t zero[8];
    if (reader->failed || (size_t)(reader->end - reader->at) < count) {
        reader->failed = true;
        return zero;
    }
    const uint8_t *bytes = reader->at;
    reader->at += count;
    return bytes;
}

uint8_t take_u8(struct reader *reader) { return *take(reader, 1); }

uint32_t take_u32(struct reader *reader) {
    const uint8_t *bytes = take(reader, 4);
    uint32_t value = 0;
    for (int i = 3; i >= 0; i--) value = value << 8 | bytes[i];
    return value;
}

uint64_t take_u64(struct reader *reader) {
    uint64_t low = take_u32(reader);
    return (uint64_t)take_u32(reader) << 32 | low;
}

struct span take_bytes(struct reader *reader) {
    uint32_t count = take_u32(reader);
    if (reader->failed || (size_t)(reader->end - reader->at) < count) {
        reader->failed = true;
        return (struct span){NULL, 0};
    }
    struct span span = {reader->at, count};
    reader->at += count;
    return span;
}

bool is_read(const struct reader *reader) { return !reader->failed && reader->at == reader->end; }

// MARK: - Writing

size_t begin_frame(struct buffer *buffer, enum report report, size_t size) {
    if (buffer->start == buffer->end) buffer->start = buffer->end = 0;
    size_t wanted = buffer->end + 5 + size;
    // Of a daemon that is never done with reading the buffer is never empty: what it has read makes room.
    if (wanted > buffer->room && buffer->start >= buffer->room / 2 && buffer->start > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->start, buffer->end - buffer->start);
        wanted -= buffer->start;
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
    if (wanted > buffer->room) {
        uint8_t *more = realloc(buffer->bytes, wanted * 2);
        if (!more) return SIZE_MAX;
        buffer->bytes = more;
        buffer->room = wanted * 2;
    }
    size_t start = buffer->end;
    put_u32(buffer, 0);
    put_u8(buffer, (uint8_t)report);
    return start;
}

void put_u8(struct buffer *buffer, uint8_t value) { buffer->bytes[buffer->end++] = value; }

void put_u32(struct buffer *buffer, uint32_t value) {
    for (int i = 0; i < 4; i++) put_u8(buffer, (uint8_t)(value >> i * 8));
}

void put_u64(struct buffer *buffer, uint64_t value) {
    put_u32(buffer, (uint32_t)value);
    put_u32(buffer, (uint32_t)(value >> 32));
}

void put_bytes(struct buffer *buffer, const void *bytes, uint32_t count) {
    put_u32(buffer, count);
    if (count > 0) memcpy(buffer->bytes + buffer->end, bytes, count);
    buffer->end += count;
}

void end_frame(struct buffer *buffer, size_t start) {
    uint32_t size = (uint32_t)(buffer->end - start - 4);
    for (int i = 0; i < 4; i++) buffer->bytes[start + i] = (uint8_t)(size >> i * 8);
}
