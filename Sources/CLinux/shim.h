// SPDX-License-Identifier: Apache-2.0
// What the Glibc module of Swift leaves out: descriptors that are waited for together, timers that notice a step of the wall clock, whether that
// clock is kept in time, descriptors of processes, and the allocator's settings.

#pragma once

#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/timex.h>

// Declared for _GNU_SOURCE alone, which Swift does not define. Its addresses are of no type here: with sys/socket.h this module would have
// taken the constants of sockets from Glibc's.
int accept4(int socket, void *address, void *length, int flags);
// The same, of spawn.h; `actions` is a posix_spawn_file_actions_t.
int posix_spawn_file_actions_addclosefrom_np(void *actions, int lowest);
// Of sys/pidfd.h, which brings `stat` with it: that would be this module's then or Glibc's, by which of the two a compiler reads first.
int pidfd_open(int process, unsigned int flags);
// Of unistd.h, for _GNU_SOURCE alone.
int gettid(void);
// Of sys/xattr.h, which Glibc's module leaves out.
long lgetxattr(const char *path, const char *name, void *value, unsigned long size);
int setxattr(const char *path, const char *name, const void *value, unsigned long size, int flags);
