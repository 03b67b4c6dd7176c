// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What libFuzzer calls with each input; the target is named by TIMERD_FUZZ.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try target.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
    } catch {
        fatalError("\(target): \(error)")
    }
}

private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["TIMERD_FUZZ"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
        fatalError("TIMERD_FUZZ is '\(name)', accepted is one of: \(names)")
    }
    return target
}()
