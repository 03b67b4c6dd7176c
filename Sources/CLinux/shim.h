// SPDX-License-Identifier: Apache-2.0
// What the Glibc module of Swift leaves out: timers that notice a step of the wall clock.

#pragma once

#include <sys/timerfd.h>
