// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Platform
import SystemPackage

/// Where the process begins: on the first thread, with no other one yet.
@main
enum Program {
    #if compiler(>=6.3) && compiler(<6.4)
    static func main() {
        prepare()
        do throws(Errno) {
            try ThreadExecutors.run {
                await TimerDMain.carryOut()
            }
        } catch {
            // As where there is room for this one and for none of the others: it may mend itself.
            let words = "cannot start a thread (ulimit -u, TasksMax=): \(error.text)"
            TimerDMain.end(for: words, serviceUnavailable)
        }
    }
    #else
    /// On the main actor, so that no thread is started before there is known to be room for it.
    @MainActor static func main() async {
        prepare()
        await TimerDMain.carryOut()
    }
    #endif

    /// An option that the command line has more than once.
    private static var repeatedOption: Substring? {
        var seen: Set<Substring> = []
        return CommandLine.arguments.dropFirst().lazy.map { $0.prefix { $0 != "=" } }
            .first { $0.hasPrefix("--") && !seen.insert($0).inserted }
    }

    private static func prepare() {
        StandardDescriptors.fill()
        ProcessSignals.block()
        // A write beyond the limit of a file's size (ulimit -f) is to be refused, as on a full disk, and not to end the
        // daemon without a word. The runner sets the signal back for itself and for commands.
        signal(SIGXFSZ, SIG_IGN)
        if let lack = UnreadableArgument.lack { TimerDMain.end(for: lack) }
        if let argument = UnreadableArgument.first { TimerDMain.end(for: "\(argument)", EX_USAGE) }
        if let again = repeatedOption {
            TimerDMain.end(for: "'\(again)' is said twice; one value would not count", EX_USAGE)
        }
        if let shortage = AddressSpace.shortage { TimerDMain.end(for: shortage) }
        MemoryReturn.begin()
    }
}
