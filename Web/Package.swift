// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// What every target is compiled with, beside Swift 6 language mode; as in the main package.
let settings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A package of its own beside the main one, so that who builds timerd needs no HTTP server.
let package = Package(
    name: "timerd-web",
    products: [
        .executable(name: "timerd-web", targets: ["timerd-web"])
    ],
    dependencies: [
        // What is shown; named, because the folder of a clone may be called anything.
        .package(name: "timerd", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // The HTTP server, without the traits that would bring all of Foundation. Its core alone: routes
        // are a value of ours, and the rest would wake up once a second to write down the date.
        .package(
            url: "https://github.com/hummingbird-project/hummingbird",
            from: "2.28.0",
            traits: []
        ),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.27.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Elements and text as values; escaping is the only way text gets in.
        .target(
            name: "HTML",
            dependencies: [
                .product(name: "TimerControl", package: "timerd"),
                .product(name: "TimerWords", package: "timerd"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "TimerWeb",
            dependencies: [
                "HTML",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Locks", package: "timerd"),
                .product(name: "Schedules", package: "timerd"),
                .product(name: "TimerControl", package: "timerd"),
                .product(name: "TimerWords", package: "timerd"),
            ],
            resources: [.embedInCode("Assets")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "timerd-web",
            dependencies: [
                "TimerWeb",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "CLinux", package: "timerd"),
                .product(name: "Locks", package: "timerd"),
                .product(name: "OneThread", package: "timerd"),
                .product(name: "Platform", package: "timerd"),
                .product(name: "Schedules", package: "timerd"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "TimerControl", package: "timerd"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TimerWebTests",
            dependencies: [
                "HTML", "TimerWeb",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Locks", package: "timerd"),
                .product(name: "Schedules", package: "timerd"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "TimerControl", package: "timerd"),
                .product(name: "TimerWords", package: "timerd"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
