// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "timerd-benchmarks",
    products: [
        .executable(name: "timerd-benchmarks", targets: ["TimerDBenchmarks"])
    ],
    dependencies: [
        // What is measured; named, because the folder of a clone may be called anything.
        .package(name: "timerd", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ],
    targets: [
        // SQLite and timerfd as they are: the limits of the machine.
        .systemLibrary(
            name: "CLimits",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        .executableTarget(
            name: "TimerDBenchmarks",
            dependencies: [
                "CLimits",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "RunLoopTimers", package: "timerd"),
                .product(name: "Schedules", package: "timerd"),
                .product(name: "TimerControl", package: "timerd"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
