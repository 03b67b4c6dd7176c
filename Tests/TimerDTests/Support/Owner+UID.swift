// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// Below the reserved 4294967294 and 4294967295, above what anyone is given.
let nobodysUID: UInt32 = 4_294_900_001

/// Users of tests are known by their uid; they have no entry in the user database.
extension Caller {
    init(uid: UInt32, isAdministrator: Bool) {
        self.init(Owner(uid: uid), isAdministrator: isAdministrator)
    }

    init(uid: UInt32, daemon: UInt32) { self.init(Owner(uid: uid), daemon: daemon) }
}

extension CommandHandler {
    func handle(
        _ request: Request,
        from uid: UInt32,
        over life: ConnectionLife? = nil
    ) async -> Result<Answer, ControlError> {
        // nobody is on every machine, by this name.
        await handle(
            request,
            from: Owner(uid: uid, name: uid == 65_534 ? "nobody" : nil),
            over: life
        )
    }
}

extension NewJob {
    init(_ definition: JobDefinition, owner uid: UInt32, at moment: ClockReading, zone: Zone)
        throws(ControlError)
    {
        try self.init(definition, owner: Owner(uid: uid), at: moment, zone: zone)
    }
}
