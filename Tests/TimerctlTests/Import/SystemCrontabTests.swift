// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Crontabs with users") struct SystemCrontabTests {
    @Test("A file of /etc/cron.d that cron skips for its name is told of, by the name it has there")
    func names() {
        for path in ["/etc/crontab", "/etc/cron.d/e2scrub_all", "/etc/cron.d/my-job2"] {
            let file = SystemCrontab(path, path)
            #expect(file != nil && file?.nameFault == nil, "\(path)")
        }
        for name in ["backup.cron", ".placeholder", "a b", "job~"] {
            let file = SystemCrontab("/etc/cron.d/\(name)", "/srv/job")
            #expect(file?.nameFault?.contains("cron does not read") == true, "\(name)")
        }
        #expect(SystemCrontab("/srv/link", "/etc/cron.d/a.b")?.path == "/etc/cron.d/a.b")
        #expect(SystemCrontab("/etc/cron.d/sub/job") == nil, "cron reads no folder in it")
        #expect(InputFile.inRealFolder("/etc/./cron.d//backup") == "/etc/cron.d/backup")
        #expect(SystemCrontab("-", "/var/spool/cron/crontabs/ann") == nil)
    }

    @Test("A file that others than root can have written is not for timerd to run, either")
    func writers() {
        #expect(SystemCrontab.fault(owner: 0, mode: 0o100_644) == nil)
        #expect(SystemCrontab.fault(owner: 0, mode: 0o100_600) == nil)
        #expect(SystemCrontab.fault(owner: 0, mode: 0o100_664) == "others may write to it")
        #expect(SystemCrontab.fault(owner: 0, mode: 0o100_646) == "others may write to it")
        #expect(SystemCrontab.fault(owner: 1001, mode: 0o100_644) == "it is not root's")
    }
}
