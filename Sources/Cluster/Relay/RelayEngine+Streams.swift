// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

/// Bytes between descriptors and links.
extension RelayEngine {
    func serve(_ connection: RelayedConnection, _ event: Poller.Event) {
        if event.hasHungUp { connection.hasHungUp = true }
        if event.isWritable { write(connection) }
        guard connections[connection.key] != nil else { return }
        if connection.reads, event.isReadable || event.hasHungUp { read(connection) }
        guard connections[connection.key] != nil else { return }
        if connection.hasHungUp { hungUp(connection) }
    }

    /// Sends what a client or the daemon has written, as much as the other node takes.
    private func read(_ connection: RelayedConnection) {
        guard case .relayed(let link, let number) = connection.phase else { return }
        guard shares.mayRead(connection.user, unsent: carrier.unsent) else {
            connection.isHeld = true
            held.append(connection)
            return watch(connection)
        }
        let room = min(connection.stream.room, scratch.count)
        let count = recv(connection.descriptor, &scratch, room, 0)
        if count > 0 {
            connection.stream.send(count)
            shares.note(count, of: connection.user)
            link.state.add(data: scratch[..<count], of: number)
            return watch(connection)
        }
        guard count == 0 || ![.wouldBlock, .interrupted].contains(Errno.last) else { return }
        if count == 0, !connection.hasHungUp {
            link.state.add(.finished(connection: number))
            connection.stream.finish()
            endIfOver(connection)
            write(connection)
        } else {
            vanished(connection, link, number)
        }
    }

    /// The other end is closed, and all that it has sent was read.
    private func vanished(_ connection: RelayedConnection, _ link: Link, _ number: UInt32) {
        link.connections[number] = nil
        link.state.add(.close(connection: number, reason: "its other end is closed"))
        close(connection)
    }

    /// Nobody takes what is written, and what is left to be read is all that will come.
    private func hungUp(_ connection: RelayedConnection) {
        switch connection.phase {
        case .relayed(let link, let number):
            if connection.stream.hasFinished {
                vanished(connection, link, number)
            } else {
                watch(connection)
            }
        case .naming, .waiting:
            hasLeftBytes(connection) ? watch(connection) : close(connection)
        case .opening(let link, let number):
            hasLeftBytes(connection) ? watch(connection) : vanished(connection, link, number)
        case .flushing: close(connection)
        }
    }

    /// Whether a client that has gone has sent something before, which is to be relayed.
    private func hasLeftBytes(_ connection: RelayedConnection) -> Bool {
        var byte: UInt8 = 0
        return recv(connection.descriptor, &byte, 1, Int32(MSG_PEEK)) > 0
    }

    /// Hands on what has come from the other node, as much as is taken.
    func write(_ connection: RelayedConnection) {
        while !connection.stream.unwritten.isEmpty {
            let count = connection.stream.unwritten.withBytes {
                Glibc.send(
                    connection.descriptor,
                    $0.baseAddress,
                    $0.count,
                    Int32(MSG_NOSIGNAL)
                )
            }
            guard count < 0 else {
                wrote(count, connection)
                continue
            }
            let error = Errno.last
            if error == .interrupted { continue }
            if error == .wouldBlock { break }
            // The other end does not read any more; whether it still sends shows when it is read.
            wrote(connection.stream.unwritten.count, connection)
        }
        guard connection.stream.unwritten.isEmpty else { return watch(connection) }
        if case .flushing = connection.phase { return close(connection) }
        if connection.stream.otherHasFinished { shutdown(connection.descriptor, Int32(SHUT_WR)) }
        watch(connection)
    }

    private func wrote(_ count: Int, _ connection: RelayedConnection) {
        guard case .relayed(let link, let number) = connection.phase else {
            _ = connection.stream.wrote(count, growth: 0)
            return
        }
        let before = connection.stream.promised
        let growth = promises.growth(of: connection.user)
        guard let told = connection.stream.wrote(count, growth: growth) else { return }
        promises.change(of: connection.user, from: before, to: connection.stream.promised)
        link.state.add(.taken(connection: number, count: told))
    }

    /// Takes a connection off its link once nothing goes over it in either direction.
    func endIfOver(_ connection: RelayedConnection) {
        guard connection.stream.isOver, case .relayed(let link, let number) = connection.phase
        else { return }
        link.connections[number] = nil
        connection.phase = .flushing
        flushDeadlines.add(connection.key, at: now + limits.flushWait.inMicroseconds)
    }

    /// Writes what is left, for as long as that may take, and closes.
    func flushAndClose(_ connection: RelayedConnection) {
        flushDeadlines.add(connection.key, at: now + limits.flushWait.inMicroseconds)
        write(connection)
    }

    /// Has the poller watch a connection for what it is ready to do.
    func watch(_ connection: RelayedConnection) {
        let reads = connection.reads
        let writes = !connection.stream.unwritten.isEmpty
        // The end of one that has hung up would be told all the time.
        guard reads || writes || !connection.hasHungUp else {
            if connection.watched != nil { poller.remove(connection.descriptor) }
            connection.watched = nil
            return
        }
        guard let watched = connection.watched else {
            do throws(Errno) {
                try poller.add(connection.descriptor, connection.key, reads: reads, writes: writes)
                connection.watched = (reads, writes)
            } catch {
                fail(connection, error)
            }
            return
        }
        guard watched != (reads, writes) else { return }
        poller.change(connection.descriptor, connection.key, reads: reads, writes: writes)
        connection.watched = (reads, writes)
    }

    /// There is no memory to watch it.
    private func fail(_ connection: RelayedConnection, _ error: Errno) {
        surroundings.report(.cannotAccept(error))
        switch connection.phase {
        case .opening(let link, let number), .relayed(let link, let number):
            vanished(connection, link, number)
        case .naming, .waiting, .flushing: close(connection)
        }
    }

    func close(_ connection: RelayedConnection) {
        guard connections[connection.key] != nil else { return }
        forget(connection)
        Glibc.close(connection.descriptor)
    }

    /// Has the relay know nothing of a connection any more; its descriptor stays open.
    func forget(_ connection: RelayedConnection) {
        if connection.watched != nil { poller.remove(connection.descriptor) }
        connection.watched = nil
        let first = RelayedConnection.firstPromise(connection.kind)
        promises.change(of: connection.user, from: connection.stream.promised, to: first)
        if connection.kind == .client {
            clientCount -= 1
            clientsByUser.count(-1, of: connection.uid)
        }
        connection.phase = .flushing
        connections[connection.key] = nil
    }
}
