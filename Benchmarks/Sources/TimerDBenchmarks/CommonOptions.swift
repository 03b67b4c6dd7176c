// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Foundation

/// What every benchmark is told.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon; also TIMERD_BIN. By default the release build of the package above.",
            valueName: "file"
        )
    )
    var timerd: String?

    @Option(help: ArgumentHelp("Where the databases go; on a real disk.", valueName: "folder"))
    var folder: String = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"

    @Flag(help: "Print each figure as a JSON object on a line.")
    var json = false

    /// Runs `body` on a bench of its own, which is gone afterwards, also when interrupted.
    func perform(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        let folder = try TemporaryFolder(in: folder)
        defer { folder.remove() }
        let bench = Bench(
            timerd: try daemonPath(),
            folder: folder,
            report: Report(asJSON: json)
        )
        bench.report.machine(Machine.description(of: folder))
        let work = Task { try await body(bench) }
        let signals = [SIGINT, SIGTERM].map { number in
            // Its default, to end the process, would leave the daemon and the folder behind.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { work.cancel() }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        do {
            try await work.value
        } catch is CancellationError {
            throw BenchmarkError("interrupted; the daemon was stopped and its folder removed")
        }
    }

    private func daemonPath() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let path =
            timerd ?? ProcessInfo.processInfo.environment["TIMERD_BIN"]
            ?? root.standardized.appending(path: ".build/release/timerd").path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchmarkError(
                "no daemon at '\(path)'; build it with 'swift build -c release "
                    + "--static-swift-stdlib --product timerd', or name it with --timerd"
            )
        }
        return path
    }
}

/// Where a benchmark works: the daemon it drives, a folder for databases, and its table.
struct Bench: Sendable {
    var timerd: String
    var folder: TemporaryFolder
    var report: Report
}

/// Why a benchmark cannot go on.
struct BenchmarkError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
