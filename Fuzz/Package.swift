// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "timerd-fuzz",
    dependencies: [
        // What is fuzzed; named, because the folder of a clone may be called anything.
        .package(name: "timerd", path: ".."),
        // The streams that the wire's decoder is given, and the values that the configuration's reader gives.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
    ],
    targets: [
        .executableTarget(
            name: "timerd-fuzz",
            dependencies: [
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Schedules", package: "timerd"),
                .product(name: "TimerControl", package: "timerd"),
                .product(name: "TimerD", package: "timerd"),
            ],
            path: "Sources",
            // The main package runs these with seeded inputs, in `make test`.
            exclude: ["Tests"],
            sources: ["Driver", "Properties"],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
