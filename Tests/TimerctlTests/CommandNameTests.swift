// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import timerctl

@Suite("Names of commands") struct CommandNameTests {
    /// ArgumentParser derives a missing name from the type, for which the runtime looks through all that the
    /// program conforms to: at each start, also of a command that has its name.
    @Test("Each command states its name")
    func stated() {
        func check(_ command: any ParsableCommand.Type) -> Int {
            #expect(command.configuration.commandName != nil, "\(command)")
            return command.configuration.subcommands.reduce(1) { $0 + check($1) }
        }
        #expect(check(Timerctl.self) > 25, "the commands are not beneath the program")
    }
}
