// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// What every target is compiled with, beside Swift 6 language mode.
let settings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// What the daemon's own parts are compiled with.
///
/// In a release what one of them calls of another may be inlined, as within one; a generic function is not specialized by that.
let daemonSettings =
    settings + [.unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))]

/// What the tests are compiled with.
///
/// Without MemberImportVisibility: C structs such as `stat` are in several modules of a program
/// (Glibc, CoreFoundation, CDispatch), and which of them counts changes with the imports of others.
let testSettings =
    Array(settings.dropLast()) + [
        // Swift 6.3 crashes where it optimizes a test's closure; the daemon is what is to be fast.
        .unsafeFlags(["-Onone"], .when(configuration: .release))
    ]

/// Where `make release` puts the archives of libraries that are to be linked in.
let archives = ["-L\(Context.packageDirectory)/.build/archives"]

/// The toolchain's own linker, told to pack the addresses that are adjusted at each start.
///
/// A release is 1.5 to 3 MB smaller by that, and starts in 0.5 ms less. glibc reads it from 2.36 on, which the programs
/// need anyway.
let smallRelocations = [
    "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
]

let package = Package(
    name: "timerd",
    products: [
        .executable(name: "timerd", targets: ["TimerDMain"]),
        .executable(name: "timerd-runner", targets: ["timerd-runner"]),
        .executable(name: "timerctl", targets: ["timerctl"]),
        .library(name: "RunLoopTimers", targets: ["RunLoopTimers"]),
        .library(name: "Schedules", targets: ["Schedules"]),
        .library(name: "TimerControl", targets: ["TimerControl"]),
        .library(name: "TimerService", targets: ["TimerService"]),
        // For Web/, beside what is for anybody.
        .library(name: "TimerWords", targets: ["TimerWords"]),
        .library(name: "OneThread", targets: ["OneThread"]),
        .library(name: "Locks", targets: ["Locks"]),
        .library(name: "CLinux", targets: ["CLinux"]),
        .library(name: "Platform", targets: ["Platform"]),
        // The daemon as a library, for Fuzz/ alone.
        .library(name: "TimerD", targets: ["TimerD"]),
    ],
    dependencies: [
        // The command lines of both programs: parsing, help, completions, exit codes.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // The configuration file: command line, environment, file and defaults, in this order.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        // Ordered and double-ended queues in front of the store, the runner and each connection.
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        // Structured log lines, so that a packager can choose where they go.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        // The control socket and its client.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        // Start and stop in order; SIGTERM and SIGINT.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // The programs that the end-to-end tests run.
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
        // File descriptors and errno texts, without Foundation.
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        .systemLibrary(name: "CPAM", pkgConfig: "pam", providers: [.apt(["libpam0g-dev"])]),
        // The files that `timerctl apply` reads.
        // Without its pkg-config, which would have the linker look for the shared library first.
        .systemLibrary(name: "CYAML", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CLinux"),
        .target(name: "CSpawn"),
        // SQLite's log, written in one piece for each commit.
        .target(name: "CGatheredLog", dependencies: ["CSQLite"]),
        // Starts and minds runs, in a process of its own.
        .executableTarget(
            name: "timerd-runner",
            dependencies: ["CSpawn"],
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])],
            linkerSettings: [
                // It is C alone: what starts Swift would bring all of Swift's runtime. Each run's process is a fork of it:
                // a function that it looks up at the first call would be looked up in each of them anew.
                .unsafeFlags(["-nostartfiles", "-Xlinker", "-z", "-Xlinker", "now"]),
                .unsafeFlags(archives, .when(configuration: .release)),
            ]
        ),
        .target(name: "Locks", swiftSettings: settings),
        .target(
            name: "Platform",
            dependencies: ["CLinux", .product(name: "SystemPackage", package: "swift-system")],
            swiftSettings: settings
        ),
        // A connection with PostgreSQL, by the libpq of the machine.
        .target(
            name: "Postgres",
            dependencies: ["Platform", .product(name: "SystemPackage", package: "swift-system")],
            swiftSettings: settings
        ),
        // Which of several nodes leads, and how the others reach it.
        .target(
            name: "Cluster",
            dependencies: [
                "CLinux", "Locks", "Platform", "Postgres",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "RunLoopTimers",
            dependencies: [
                "Locks", "Platform", .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),
        .target(name: "Schedules", dependencies: ["Locks"], swiftSettings: settings),
        // What a job is: pure values.
        .target(name: "JobModel", dependencies: ["Schedules"], swiftSettings: settings),
        .target(
            name: "TimerControl",
            dependencies: [
                "JobModel", "Locks", "Platform", "Schedules",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),
        // Jobs, runs and dates in words, the same in timerctl and on the page.
        .target(
            name: "TimerWords",
            dependencies: ["Schedules", "TimerControl"],
            swiftSettings: settings
        ),
        // Tasks on the first thread alone, for programs that mostly wait.
        .target(
            name: "OneThread",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        // A worker as a service of ServiceLifecycle, for who has such.
        .target(
            name: "TimerService",
            dependencies: [
                "TimerControl",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Migrations",
            path: "migrations",
            resources: [.embedInCode("sql")],
            swiftSettings: settings
        ),
        // What the daemon asks of Linux and of systemd: what is ready, whose time has come, who waits.
        .target(
            name: "LinuxSystem",
            dependencies: [
                "CLinux", "JobModel", "Locks", "Platform", "RunLoopTimers", "Schedules",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: daemonSettings
        ),
        // What is asked of timerd-runner, and said by it.
        .target(
            name: "Runner",
            dependencies: [
                "CLinux", "CPAM", "CSpawn", "Cluster", "JobModel", "LinuxSystem", "Locks",
                "Platform", "Schedules", "TimerControl",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: daemonSettings
        ),
        // A connection with a database, its statements and its file.
        .target(
            name: "SQLite",
            dependencies: [
                "CGatheredLog", "CLinux", "CSQLite", "Locks", "Platform",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: daemonSettings
        ),
        // Whose request is next.
        .target(
            name: "Turns",
            dependencies: [
                "JobModel", "Locks", "TimerControl",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: daemonSettings
        ),
        .target(
            name: "TimerD",
            dependencies: [
                "CLinux", "CSQLite", "Cluster", "JobModel", "LinuxSystem", "Locks", "Migrations",
                "Platform", "Postgres", "RunLoopTimers", "Runner", "SQLite", "Schedules",
                "TimerControl", "Turns",
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OrderedCollections", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                // The metrics, where they are served over HTTP.
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "TimerDMain",
            dependencies: [
                "CLinux", "LinuxSystem", "Locks", "Platform", "TimerControl", "TimerD",
                "TimerWords",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings,
            linkerSettings: [
                .unsafeFlags(smallRelocations, .when(configuration: .release))
            ]
        ),
        .executableTarget(
            name: "timerctl",
            dependencies: [
                "CLinux", "CYAML", "Locks", "OneThread", "Platform", "Schedules", "TimerControl",
                "TimerWords",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings,
            // A start takes 2.5 ms instead of 3 where no library has to be found and no name is for others.
            linkerSettings: [
                .unsafeFlags(
                    archives + smallRelocations + [
                        "-Xlinker", "--no-export-dynamic", "-Xclang-linker", "-static-libgcc",
                    ],
                    .when(configuration: .release)
                )
            ]
        ),
        .testTarget(
            name: "RunLoopTimersTests",
            dependencies: ["Locks", "RunLoopTimers"],
            swiftSettings: testSettings
        ),
        // A PostgreSQL server of a test's own.
        .target(
            name: "TestPostgres",
            dependencies: ["Locks", "Platform"],
            path: "Tests/TestPostgres",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PostgresTests",
            dependencies: ["Locks", "Postgres", "TestPostgres"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "ClusterTests",
            dependencies: [
                "Cluster", "Locks", "Platform", "Postgres", "TestPostgres", "TestRandom",
            ],
            swiftSettings: testSettings
        ),
        // Random numbers that are the same in each run.
        .target(name: "TestRandom", path: "Tests/TestRandom", swiftSettings: settings),
        .testTarget(
            name: "SchedulesTests",
            dependencies: ["Schedules", "TestRandom"],
            resources: [.copy("Vectors")],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "JobModelTests",
            dependencies: ["JobModel", "Schedules"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "TimerControlTests",
            dependencies: ["Schedules", "TestRandom", "TimerControl"],
            swiftSettings: testSettings
        ),
        // What docs/conformance drives: the client of TimerControl.
        .executableTarget(
            name: "conformance-driver",
            dependencies: ["TimerControl"],
            path: "clients/swift",
            swiftSettings: settings
        ),
        .testTarget(
            name: "TimerctlTests",
            dependencies: [
                "Locks", "Platform", "Schedules", "TimerControl", "TimerWords", "timerctl",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            resources: [.copy("Vectors")],
            swiftSettings: testSettings
        ),
        // A disk that fails as a test tells it to.
        .target(
            name: "CCrashDisk",
            path: "Tests/CCrashDisk",
            linkerSettings: [.linkedLibrary("sqlite3")]
        ),
        // The properties that Fuzz/ tries, here with seeded inputs.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "Schedules", "TimerControl", "TimerD", "TimerWords", "timerctl",
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Fuzz/Sources",
            exclude: ["Driver"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "LinuxSystemTests",
            dependencies: ["LinuxSystem", "Schedules"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "RunnerTests",
            dependencies: [
                "Locks", "Runner", .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "TurnsTests",
            dependencies: [
                "JobModel", "Schedules", "TestRandom", "TimerControl", "Turns",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "TimerDTests",
            dependencies: [
                "CCrashDisk", "CSpawn", "CSQLite", "JobModel", "LinuxSystem", "Locks",
                "Migrations", "Platform",
                "Cluster", "Postgres", "RunLoopTimers", "Runner", "SQLite", "Schedules",
                "TestPostgres", "TestRandom", "TimerControl", "TimerD", "TimerService",
                // The end-to-end tests run these; naming them here has them built first.
                "TimerDMain", "timerctl", "timerd-runner",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["Fixtures"],
            swiftSettings: testSettings
        ),
    ],
    swiftLanguageModes: [.v6]
)
