// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NIOCore
import OneThread

/// Where the process begins: on the first thread, with no other one yet.
@main
enum Program {
    #if compiler(>=6.3) && compiler(<6.4)
    static func main() {
        Spawn.prepare()
        // The task alone has it from here on.
        nonisolated(unsafe) let command = Timerctl.parsed()
        OneThread.run { await Timerctl.carryOut(command) }
    }
    #else
    static func main() async {
        Spawn.prepare()
        // One thread for the one connection; NIO would begin one for each processor.
        NIOSingletons.groupLoopCountSuggestion = 1
        await Timerctl.carryOut(Timerctl.parsed())
    }
    #endif
}
