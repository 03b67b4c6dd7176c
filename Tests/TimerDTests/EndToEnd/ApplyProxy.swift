// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A socket between `timerctl` and a daemon, at which a command of the shell is run ahead of each `job.apply`.
///
/// It connects to the daemon as the user who has connected to it.
struct ApplyProxy {
    private let daemon: DaemonProcess
    private let ahead: String
    private var path: String { daemon.folder + "/proxy" }

    /// `ahead`: the command, which gets the user's number as `$1` and asks the daemon itself.
    ///
    /// What it prints is the answer, in place of the daemon's, with ID for the number of the request.
    init(_ daemon: DaemonProcess, ahead: String) throws {
        (self.daemon, self.ahead) = (daemon, ahead)
        try Self.program.write(toFile: path, atomically: false, encoding: .utf8)
    }

    /// Runs a command of the shell, whose `timerctl` asks through the socket.
    func callAsFunction(_ command: String) async throws -> Shell.Answer {
        let shell = Shell(
            variables: [
                "TIMERD_SOCKET": path + ".sock", "NO_COLOR": "1", "AHEAD": ahead,
                "COMMAND": command,
            ],
            folder: daemon.folder
        )
        return try await shell("exec perl \(path) \(path).sock \(daemon.socket)")
    }

    /// The numbers of the users who have asked for `job.apply`, in their order.
    func askers() throws -> [Substring] {
        try String(contentsOfFile: path + ".sock.log", encoding: .utf8).split(separator: "\n")
    }

    /// 17 is SO_PEERCRED.
    private static let program = """
        use IO::Socket::UNIX; my ($socket, $daemon) = @ARGV; unlink $socket;
        my $listener = IO::Socket::UNIX->new(Local => $socket, Listen => 9) or die;
        chmod 0666, $socket;
        if (my $server = fork) {
            close $listener;
            my $status = system "sh", "-c", $ENV{COMMAND};
            kill 9, $server; exit $status >> 8;
        }
        $SIG{CHLD} = "IGNORE"; my $groups = $);
        while (my $client = $listener->accept) {
            next if fork;
            $SIG{CHLD} = "DEFAULT"; close $listener; $ENV{TIMERD_SOCKET} = $daemon;
            my (undef, $uid, $gid) = unpack "iii", getsockopt($client, SOL_SOCKET, 17);
            $) = $gid; $> = $uid;
            my $server = IO::Socket::UNIX->new(Peer => $daemon) or die;
            $> = $<; $) = $groups;
            while (my $line = <$client>) {
                my $answer;
                if ($line =~ /"method":"job\\.apply"/) {
                    open my $log, ">>", "$socket.log"; print $log "$uid\\n"; close $log;
                    open my $ahead, "-|", "sh", "-c", $ENV{AHEAD}, "sh", $uid;
                    $answer = <$ahead>; close $ahead;
                    my ($id) = $line =~ /"id":(\\d+)/; $answer =~ s/ID/$id/ if $answer;
                }
                if (!$answer) { print $server $line; $server->flush; $answer = <$server>; }
                print $client $answer; $client->flush;
            }
            exit;
        }
        """
}
