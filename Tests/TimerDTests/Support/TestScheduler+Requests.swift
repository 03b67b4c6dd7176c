// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

extension TestScheduler {
    /// The jobs that a request is answered with.
    @discardableResult
    func jobs(_ request: Request, as uid: UInt32 = 0) async throws -> [Job] {
        let reply = try await handler().handle(request, from: uid).get()
        if let one = reply as? JobReply { return [one.job] }
        if let applied = reply as? ApplyReply { return applied.invalidated + applied.changed }
        return try #require(reply as? JobsReply).jobs
    }

    /// Why a request is refused; nil where it is carried out.
    func refusal(_ request: Request, as uid: UInt32 = 0) async -> ControlError? {
        switch await handler().handle(request, from: uid) {
        case .success: nil
        case .failure(let error): error
        }
    }
}
