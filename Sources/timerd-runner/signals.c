// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "signals.h"

#include "session.h"

#include <errno.h>
#include <unistd.h>

// With its owner's rights, or with the runner's own.
static enum sending send_with_rights(struct run *run, int ending, bool as_runner, const struct delivery *delivery,
                                     enum answer *answer) {
    // 1 would be everybody: kill(2).
    if (delivery->leader == 1 || (delivery->leader == 0 && delivery->members == -1)) {
        *answer = answer_unknown;
        return sending_done;
    }
    if (run->has_owner && !as_runner) return begin_errand(run, ending, delivery, answer);
    *answer = deliver(delivery);
    return sending_done;
}

enum sending send_signal(struct run *run, int signal, int ending, bool as_runner, enum answer *answer) {
    // There is no process that would be the owner's, nor a command yet.
    if (is_opening(run)) {
        *answer = answer_refused;
        return sending_done;
    }
    bool is_surviving = run->phase == phase_surviving;
    // Its number may be another group's by now.
    if (is_surviving && !survives(run)) {
        *answer = answer_gone;
        return sending_done;
    }
    struct delivery delivery = {
        .signal = signal,
        // After the end of its leader the number may become another's, and a control group knows its processes anyway.
        .leader = run->group && is_surviving ? 0 : run->pid,
        .or_leader = !is_surviving,
        .members = run->group ? open_members(run->group) : -1,
    };
    if (run->group && delivery.members == -1 && lacks_room(errno)) return sending_later;
    enum sending sending = send_with_rights(run, ending, as_runner, &delivery, answer);
    if (delivery.members != -1) close(delivery.members);
    return sending;
}
