// SPDX-License-Identifier: Apache-2.0

/// The version of all programs, by Semantic Versioning 2.0.
///
/// `RELEASE` in Sources/timerd-runner/wire.h says it to a compiler that cannot read this; a test compares both.
public let timerdVersion = "0.1.0"
