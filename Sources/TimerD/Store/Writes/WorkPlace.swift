// SPDX-License-Identifier: Apache-2.0

/// The place of a request that may wait for something: it has that only while it is at work.
final class WorkPlace: Sendable, Hashable {
    private let taking: @Sendable () async throws -> Void
    private let giving: @Sendable () -> Void

    init(
        take: @escaping @Sendable () async throws -> Void,
        giveBack: @escaping @Sendable () -> Void
    ) {
        taking = take
        giving = giveBack
    }

    /// Returns once the request has its place; at once if it has it already.
    ///
    /// - Throws: if the task is cancelled.
    func take() async throws { try await taking() }

    /// Gives the place back, as the request is about to wait; it does nothing where there is none.
    ///
    /// With the reply the connection calls it too.
    func giveBack() { giving() }

    static func == (one: WorkPlace, other: WorkPlace) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
