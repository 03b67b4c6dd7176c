// SPDX-License-Identifier: Apache-2.0

// It holds `sigset_t` where a module of the program imports it, and Glibc where none does.
import CLinux
import Glibc

/// A daemon that could not start says why, and waits before it ends.
///
/// It waits the longer, the more often its service manager has restarted it.
///
/// systemd 252 cannot slow down its restarts (RestartSteps= came with 254): it would restart each second for
/// as long as a disk is full.
package struct StartBackoff: Sendable {
    private let manager: ServiceManager

    package init(_ manager: ServiceManager) { self.manager = manager }

    /// Says why in the service's status, and waits; SIGTERM, SIGINT and SIGUSR1 end the process meanwhile.
    ///
    /// Without a service manager, or after the first failure of a start by hand, it does not wait.
    ///
    /// `mayMend`: whether the problem may mend itself, as a full disk does; else it does not wait either.
    package func wait(because problem: String, mayMend: Bool) {
        guard manager.isThere else { return }
        let reason = "cannot start: \(problem)"
        guard mayMend, let unit = ServiceUnit.own else { return manager.tell(.status(reason)) }
        // No part of the daemon runs any more: a signal may end the process at once, and what it starts to ask systemd.
        signal(SIGTERM, SIG_DFL)
        signal(SIGINT, SIG_DFL)
        signal(SIGUSR1, SIG_DFL)
        signal(SIGHUP, SIG_IGN)
        var all = sigset_t()
        sigemptyset(&all)
        sigaddset(&all, SIGTERM)
        sigaddset(&all, SIGINT)
        sigaddset(&all, SIGUSR1)
        pthread_sigmask(SIG_UNBLOCK, &all, nil)
        let delay = Self.delay(restarts: unit.restarts() ?? 0)
        guard delay > 0 else { return manager.tell(.status(reason)) }
        manager.tell(
            .status("\(reason); it is tried again in \(delay) s"),
            .needs(.seconds(Int(delay) + 30))
        )
        var left = delay
        while left > 0 { left = sleep(left) }
    }

    /// The delay in seconds; `restarts`: how many since somebody started the service by hand.
    static func delay(restarts: Int) -> UInt32 {
        switch restarts {
        case ..<1: 0
        case 1..<6: 1 << UInt32(restarts)
        default: 60
        }
    }
}

/// The service that a process belongs to, by its control group.
struct ServiceUnit: Hashable, Sendable {
    var name: String
    /// Whether a user's own manager runs it.
    var isUsers: Bool

    static var own: Self? {
        guard let file = fopen("/proc/self/cgroup", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = fread(&bytes, 1, bytes.count, file)
        return Self(cgroups: String(decoding: bytes.prefix(count), as: UTF8.self))
    }

    init(name: String, isUsers: Bool) {
        (self.name, self.isUsers) = (name, isUsers)
    }

    /// Reads lines such as "0::/system.slice/timerd.service", cgroups(7); nil if they name no service.
    init?(cgroups: String) {
        let paths = cgroups.split(separator: "\n").filter {
            $0.hasPrefix("0::") || $0.contains(":name=systemd:")
        }
        for path in paths {
            let groups = path.split(separator: "/")
            guard let name = groups.last(where: { $0.hasSuffix(".service") }) else { continue }
            // The name goes into a shell command.
            guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "'") }) else {
                continue
            }
            let isUsers = groups.contains { $0.hasPrefix("user@") && $0 != name }
            self.init(name: String(name), isUsers: isUsers)
            return
        }
        return nil
    }

    /// How often systemd has restarted it since it was started by hand; nil if systemd does not answer.
    func restarts() -> Int? {
        let manager = isUsers ? "--user " : ""
        let command =
            "timeout 5 systemctl \(manager)show -p NRestarts --value '\(name)' 2>/dev/null"
        guard let pipe = popen(command, "r") else { return nil }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = fread(&bytes, 1, bytes.count, pipe)
        pclose(pipe)
        return Int(String(decoding: bytes.prefix(count).prefix { $0 != 0x0a }, as: UTF8.self))
    }
}
