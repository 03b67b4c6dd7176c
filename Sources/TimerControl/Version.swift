// SPDX-License-Identifier: Apache-2.0

/// The version of both programs, by Semantic Versioning 2.0; stated only here.
public let timerdVersion = "0.1.0"
