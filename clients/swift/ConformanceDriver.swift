// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// Does with a `ControlClient` what the suite of docs/conformance tells it, a line of JSON each.
@main
enum ConformanceDriver {
    static func main() async throws {
        var driver = Driver()
        while let line = readLine() {
            let answer = await driver.answer(try JSONValue(parsing: line))
            print(answer.jsonText)
            fflush(nil)
        }
    }
}

struct Driver {
    private var client: ControlClient?
    private var path = ""
    private var limit: Duration?
    /// What the watch was told, as answers.
    private var told: AsyncStream<JSONValue>.AsyncIterator?

    mutating func answer(_ command: JSONValue) async -> JSONValue {
        do {
            if case .string(let path)? = command["connect"] {
                self.path = path
                return .object(["result": .null])
            }
            if case .array(let calls)? = command["calls"] { return try await all(calls) }
            if case .string(let method)? = command["call"] {
                return try await call(method, command["params"])
            }
            if case .string(let method)? = command["giveUp"] {
                return try await giveUp(method, command["params"])
            }
            if let parameters = command["watch"] { return try await watch(parameters) }
            if command["next"] != nil { return await next() }
            if command["close"] != nil {
                await client?.close()
                return .object(["result": .null])
            }
            if let seconds = command["timeout"] {
                limit = .milliseconds(Int64((try seconds.decoded(as: Double.self)) * 1000))
                return .object(["result": .null])
            }
            return Self.unsupported
        } catch {
            return Self.error(error)
        }
    }

    /// The client, or a new one where the connection of the last was lost: a `ControlClient` is one connection.
    private mutating func connected() async throws -> ControlClient {
        if let client, await client.isConnected() { return client }
        let made = try await ControlClient.connect(to: path)
        client = made
        return made
    }

    private mutating func call(_ method: String, _ parameters: JSONValue?) async throws -> JSONValue
    {
        let client = try await connected()
        let answer = await Self.call(client, method, parameters, limit)
        let words: [JSONValue] = ["connectionLost", "protocolError", "timedOut"].map { .string($0) }
        if let reason = answer["error"]?["reason"], answer["error"]?["code"] == nil,
            words.contains(reason)
        {
            await client.close()
            self.client = nil
        }
        return answer
    }

    /// A `ControlClient` is one connection: whoever gives up a call that waits closes it.
    private mutating func giveUp(
        _ method: String,
        _ parameters: JSONValue?
    ) async throws -> JSONValue {
        let given = limit
        limit = .milliseconds(200)
        defer { limit = given }
        let answer = try await call(method, parameters)
        let isGivenUp = answer["error"]?["reason"] == JSONValue.string("timedOut")
        return isGivenUp ? .object(["result": .null]) : answer
    }

    private mutating func all(_ calls: [JSONValue]) async throws -> JSONValue {
        let (client, limit) = (try await connected(), limit)
        var tasks: [Task<JSONValue, Never>] = []
        for call in calls {
            guard case .string(let method)? = call["call"] else { return Self.unsupported }
            let parameters = call["params"]
            // They begin at once, up to where each waits for its reply.
            tasks.append(Task.immediate { await Self.call(client, method, parameters, limit) })
        }
        var results: [JSONValue] = []
        for task in tasks { results.append(await task.value) }
        return .object(["results": .array(results)])
    }

    private static func call(
        _ client: ControlClient,
        _ method: String,
        _ parameters: JSONValue?,
        _ limit: Duration?
    ) async -> JSONValue {
        do {
            guard let limit else {
                return .object(["result": try await client.call(method, parameters)])
            }
            let late = Task {
                try await Task.sleep(for: limit)
                await client.close()
            }
            do {
                let result = try await client.call(method, parameters)
                late.cancel()
                return .object(["result": result])
            } catch let error as ClientError where error.reason == .closed {
                return Self.error("timedOut")
            }
        } catch {
            return Self.error(error)
        }
    }

    private static func request(_ method: String, _ parameters: JSONValue?) -> Request? {
        var members: [String: JSONValue] = [
            "jsonrpc": .string("2.0"), "id": .integer(1), "method": .string(method),
        ]
        members["params"] = parameters
        // try?: a line that is no request is none of the client's either.
        let line = try? RequestLine(parsing: Array(JSONValue.object(members).jsonText.utf8))
        guard case .single(let envelope)? = line, case .success(let request) = envelope.request
        else { return nil }
        return request
    }

    private mutating func watch(_ parameters: JSONValue) async throws -> JSONValue {
        guard case .subscribe(let subscribe)? = Self.request("events.subscribe", parameters) else {
            // What no subscription of the client's is, the daemon is asked for by its name.
            return await Self.call(try await connected(), "events.subscribe", parameters, limit)
        }
        let client = try await connected()
        let (stream, teller) = AsyncStream<JSONValue>.makeStream()
        told = stream.makeAsyncIterator()
        let reply = try await client.subscribe(
            subscribe,
            onEventsLost: { teller.yield(.object(["lost": Self.json($0)])) },
            onUnknownEvent: { teller.yield(.object(["event": $0])) }
        )
        Task {
            do {
                for try await event in client.events {
                    teller.yield(.object(["event": Self.json(event)]))
                }
                teller.yield(Self.error("connectionLost"))
            } catch {
                teller.yield(Self.error(error))
            }
        }
        return .object(["result": Self.json(reply)])
    }

    private mutating func next() async -> JSONValue {
        var told = told
        defer { self.told = told }
        return await told?.next() ?? Self.error("connectionLost")
    }

    private static func json(_ value: some Encodable) -> JSONValue {
        // try?: what came as JSON can be written as JSON.
        (try? JSONValue(encoding: value)) ?? .null
    }

    private static var unsupported: JSONValue { error("unsupported") }

    private static func error(_ reason: String, _ message: String = "") -> JSONValue {
        .object(["error": .object(["reason": .string(reason), "message": .string(message)])])
    }

    private static func error(_ error: any Error) -> JSONValue {
        switch error {
        case let error as ControlError:
            var members: [String: JSONValue] = [
                "code": .integer(Int64(error.told?.code ?? error.reason.code)),
                "message": .string(error.message),
            ]
            let word = error.told.map(\.reason) ?? error.reason.rawValue
            if let word { members["reason"] = .string(word) }
            return .object(["error": .object(members)])
        case let error as ClientError:
            switch error.reason {
            case .noDaemon, .notPermitted: return self.error("cannotConnect", error.message)
            case .disconnected, .closed: return self.error("connectionLost", error.message)
            case .badReply: return self.error("protocolError", error.message)
            }
        default: return self.error("protocolError", "\(error)")
        }
    }
}
