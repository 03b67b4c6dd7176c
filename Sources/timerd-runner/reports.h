// SPDX-License-Identifier: Apache-2.0
// What the daemon is told.

#pragma once

#include "run.h"
#include "wire.h"

// Each of these is false without memory, and the buffer may then have a part of it.

/// Who the runner is, what it has for runs, and which runs it knows; what came of these is news then.
bool put_greeting(struct buffer *to);

/// That a run was not begun, for that errno.
bool put_refusal(struct buffer *to, uint64_t run, int error);

/// What came of a signal, where that is known at once.
bool put_answer(struct buffer *to, uint64_t run, enum answer answer);

/// The answer to `ping`.
bool put_pong(struct buffer *to);

/// Puts what is told of a run that has ended, but for what it wrote.
bool put_kept(struct buffer *to, const struct run *run);

/// Puts what is to be told of a run, one portion of its output at most; the rest is news still.
bool put_news(struct buffer *to, struct run *run);
