// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the figures were measured on.
enum Machine {
    static func description(of folder: TemporaryFolder) -> String {
        var system = utsname()
        uname(&system)
        let release = withUnsafeBytes(of: system.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        var load = [0.0]
        getloadavg(&load, 1)
        let processors = ProcessInfo.processInfo.activeProcessorCount
        return "\(processors) x \(processor), Linux \(release), \(folder.fileSystem) at "
            + "'\(folder.path)', load \(String(format: "%.1f", load[0])) at the start"
    }

    private static var processor: String {
        let lines = ProcFile.lines("/proc/cpuinfo")
        let model = lines.first { $0.hasPrefix("model name") }
        return model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
            ?? "processor"
    }
}

/// A text file of the kernel's.
enum ProcFile {
    /// Empty where the file cannot be read: its process or thread has ended.
    static func lines(_ path: String) -> [Substring] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    /// The number behind `name:` in a file of such lines.
    static func number(_ name: String, in path: String) -> Int? {
        let line = lines(path).first { $0.hasPrefix(name + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }
}
