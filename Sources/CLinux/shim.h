// SPDX-License-Identifier: Apache-2.0
// What the Glibc module of Swift leaves out: timers that notice a step of the wall clock, and
// descriptors of processes.

#pragma once

#include <sys/pidfd.h>
#include <sys/timerfd.h>
