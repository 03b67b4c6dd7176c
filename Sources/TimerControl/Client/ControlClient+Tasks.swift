// SPDX-License-Identifier: Apache-2.0

/// The requests of workers as functions; each throws as `call` does.
extension ControlClient {
    /// A request with `wait` holds up the replies to the later requests of this client.
    public func reserveTasks(_ request: ReserveTasks) async throws -> [QueuedTask] {
        try await call(.reserveTasks(request), as: TasksReply.self).tasks
    }

    /// One outcome for each, in order; `whileConnected`: whether they are tied to this connection from now on, nil for as it is.
    public func extendTasks(
        _ tasks: [TaskReference],
        lease: String? = nil,
        whileConnected: Bool? = nil
    ) async throws -> [TaskOutcome] {
        var request = ExtendTasks(tasks)
        (request.lease, request.whileConnected) = (lease, whileConnected)
        return try await call(.extendTasks(request), as: TaskOutcomesReply.self).tasks
    }

    @discardableResult
    public func finishTask(_ task: TaskReference) async throws -> TaskOutcome {
        try await call(.finishTasks(FinishTasks(task)), as: TaskOutcomeReply.self).task
    }

    @discardableResult
    public func failTask(_ task: TaskReference, reason: String? = nil) async throws -> TaskOutcome {
        let request = FailTasks(FailedTask(task, reason: reason))
        return try await call(.failTasks(request), as: TaskOutcomeReply.self).task
    }

    @discardableResult
    public func releaseTask(
        _ task: TaskReference,
        delay: String? = nil
    ) async throws -> TaskOutcome {
        let request = ReleaseTasks(ReleasedTask(task, delay: delay))
        return try await call(.releaseTasks(request), as: TaskOutcomeReply.self).task
    }

    /// One page; its `cursor` goes into the request for the next.
    public func listTasks(_ request: ListTasks = ListTasks()) async throws -> TasksReply {
        try await call(.listTasks(request))
    }

    /// Has dead tasks ready again; how many.
    @discardableResult
    public func retryTasks(_ tasks: TaskSelection) async throws -> Int {
        try await call(.retryTasks(tasks), as: CountReply.self).count
    }

    @discardableResult
    public func dropTasks(_ tasks: DropTasks) async throws -> Int {
        try await call(.dropTasks(tasks), as: CountReply.self).count
    }

    @discardableResult
    public func kickTasks(_ request: KickTasks) async throws -> Int {
        try await call(.kickTasks(request), as: CountReply.self).count
    }

    /// All queues, asked for page by page; with `paused` those alone that are paused, or are not.
    public func listQueues(
        owner: String? = nil,
        paused: Bool? = nil
    ) async throws -> [TaskQueue] {
        var request = ListQueues(owner: owner)
        request.paused = paused
        request.limit = Limits.page
        var queues: [TaskQueue] = []
        repeat {
            let page = try await call(.listQueues(request), as: QueuesReply.self)
            queues += page.queues
            request.cursor = page.cursor
        } while request.cursor != nil
        return queues
    }

    /// The reply says whether the queue was made: there was none of this name before.
    @discardableResult
    public func setQueue(_ request: SetQueue) async throws -> QueueReply {
        try await call(.setQueue(request))
    }
}
