// SPDX-License-Identifier: Apache-2.0

import Schedules

extension TasksReply: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("cursor", cursor)
            writer.member("tasks", tasks)
        }
    }
}

extension QueuedTask: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("attempt", attempt)
            writer.member("fire", fire)
            writer.member("fireDate", fireDate)
            writer.member("job", job)
            writer.member("leaseUntil", leaseUntil)
            writer.member("name", name)
            writer.member("owner", owner)
            writer.member("priority", priority)
            writer.member("queue", queue)
            writer.member("readyAt", readyAt)
            writer.member("reason", reason)
            writer.member("state", state)
            writer.member("token", token)
            writer.member("userInfo", userInfo)
        }
    }
}

extension TaskOutcomeReply: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { $0.member("task", task) }
    }
}

extension TaskOutcomesReply: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { $0.member("tasks", tasks) }
    }
}

extension TaskOutcome: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("error", error)
            writer.member("fire", fire)
            writer.member("leaseUntil", leaseUntil)
            writer.member("readyAt", readyAt)
            writer.member("state", state)
        }
    }
}

extension TaskOutcome.Refusal: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("message", message)
            writer.member("reason", reason)
        }
    }
}
