// SPDX-License-Identifier: Apache-2.0

/// The version of both programs, by Semantic Versioning 2.0; the one place that says it.
public let timerdVersion = "0.1.0"
