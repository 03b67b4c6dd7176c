// SPDX-License-Identifier: Apache-2.0
// What the runner has to say of itself, a line each.

#pragma once

/// Says a line, without its end: on standard error, or by syslog where that is /dev/null, as in a runner that a daemon has
/// started. What is not taken at once is lost: no run waits for whoever reads it.
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
