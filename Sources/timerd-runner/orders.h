// SPDX-License-Identifier: Apache-2.0
// What the daemon asks for.

#pragma once

#include "wire.h"

/// Carries out an order, the frame without its length, and puts the answer; 0 or the errno: EPROTO for one that cannot
/// be understood, ENOMEM where the answer could not be put.
int carry_out(const uint8_t *bytes, size_t size, struct buffer *answers);

/// Whether an order is `hello`.
bool is_hello(const uint8_t *bytes);

/// Whether a daemon has asked the runner to leave once nothing is left.
extern bool is_to_leave;
