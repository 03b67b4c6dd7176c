// SPDX-License-Identifier: Apache-2.0

#include "orders.h"

#include "ends.h"
#include "reports.h"

#include <errno.h>

// What an order to end a run says beside how.
enum { as_runner = 1, with_all = 2, is_again = 4, as_begun = 8, with_rest = 16 };

bool is_to_leave;

bool is_hello(const uint8_t *bytes) { return bytes[0] == order_hello; }

static int hello(struct reader *frame, struct buffer *answers) {
    uint32_t version = take_u32(frame);
    // A newer daemon reads this answer, and says what this version has. There is one version as long as there is no release:
    // what was added to `end` and `start` until then, a runner that was built before it does not know.
    if (version == 0 || frame->failed) return EPROTO;
    return put_greeting(answers) ? 0 : ENOMEM;
}

static int start(struct reader *frame, struct buffer *answers) {
    uint64_t id = take_u64(frame);
    if (frame->failed) return EPROTO;
    // Refused, whatever the reason: after a new greeting the daemon would ask for it again, and no run would begin.
    int error = is_ending ? ESHUTDOWN : start_run(id, frame);
    return error == 0 || put_refusal(answers, id, error) ? 0 : ENOMEM;
}

static int end(struct reader *frame, struct buffer *answers) {
    uint64_t id = take_u64(frame);
    uint8_t flags = take_u8(frame);
    struct teardown teardown;
    if (!take_teardown(frame, &teardown) || !is_read(frame)) return EPROTO;
    struct run *run = find_run(id);
    enum phase last = flags & with_rest ? phase_surviving : phase_running;
    if (!run || run->phase > last) return put_answer(answers, id, answer_gone) ? 0 : ENOMEM;
    if (flags & is_again && is_asked_to_end(run)) {
        // What came of the signal that was asked for before; where that is not known yet, it is told once it is.
        if (has_signalled(run)) tell(run, news_signalled);
        return 0;
    }
    if (flags & with_rest) {
        bool is_over = run->phase == phase_surviving;
        end_with_rest(run, &teardown, flags & as_runner);
        // What is left is ended in any case: with its last signal whosever it is.
        return !is_over || put_answer(answers, id, answer_sent) ? 0 : ENOMEM;
    }
    if (flags & as_begun) teardown = flags & with_all ? rules_not_repeated(run) : rules_of_command(run);
    // Whoever has asked for an end of all of it by a time of his own has it by then, whatever else asks for its end meanwhile.
    if (is_ending_sooner(run, &teardown, flags & as_runner)) {
        if (flags & with_all) count_as_ended_with_all(run);
        if (has_signalled(run)) tell(run, news_signalled);
        return 0;
    }
    end_run(run, &teardown, flags & with_all ? cause_asked_with_all : cause_asked, flags & as_runner);
    return 0;
}

static int stored(struct reader *frame) {
    uint64_t id = take_u64(frame);
    if (!is_read(frame)) return EPROTO;
    struct run *run = find_run(id);
    // Only what has been told can be stored.
    if (!run || run->phase != phase_ended || run->news & news_ended) return 0;
    forget_kept(run);
    remove_run(run);
    return 0;
}

static int passed(struct reader *frame) {
    uint64_t id = take_u64(frame), passed[2];
    for (int i = 0; i < 2; i++) passed[i] = take_u64(frame);
    if (!is_read(frame)) return EPROTO;
    struct run *run = find_run(id);
    for (int i = 0; run && i < 2; i++)
        if (passed[i] > run->passed[i]) run->passed[i] = passed[i];
    return 0;
}

static int leave(const struct reader *frame) {
    if (!is_read(frame)) return EPROTO;
    is_to_leave = true;
    return 0;
}

static int end_them_all(const struct reader *frame) {
    if (!is_read(frame)) return EPROTO;
    end_all();
    return 0;
}

static int ping(const struct reader *frame, struct buffer *answers) {
    if (!is_read(frame)) return EPROTO;
    return put_pong(answers) ? 0 : ENOMEM;
}

int carry_out(const uint8_t *bytes, size_t size, struct buffer *answers) {
    struct reader frame = {bytes + 1, bytes + size, false};
    switch (bytes[0]) {
    case order_hello: return hello(&frame, answers);
    case order_start: return start(&frame, answers);
    case order_end: return end(&frame, answers);
    case order_stored: return stored(&frame);
    case order_leave: return leave(&frame);
    case order_end_all: return end_them_all(&frame);
    case order_passed: return passed(&frame);
    case order_ping: return ping(&frame, answers);
    // A newer daemon has been told this version, and says nothing that it does not know.
    default: return EPROTO;
    }
}
