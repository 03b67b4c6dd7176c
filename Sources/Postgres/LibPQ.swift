// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The functions of libpq, found in the machine's library at the first use.
///
/// Without its headers: who builds this needs no libpq-dev, and who keeps no jobs in PostgreSQL needs no libpq.
/// https://www.postgresql.org/docs/current/libpq.html
struct LibPQ: Sendable {
    typealias Connection = OpaquePointer
    typealias Result = OpaquePointer
    typealias Text = UnsafePointer<CChar>
    typealias MutableText = UnsafeMutablePointer<CChar>
    typealias Texts = UnsafePointer<Text?>
    typealias NoticeReceiver = @convention(c) (UnsafeMutableRawPointer?, Result?) -> Void

    // What is done with an address; it answers an array of `ConnectOption`.
    let conninfoParse:
        @Sendable @convention(c) (
            Text, UnsafeMutablePointer<MutableText?>?
        ) -> UnsafeMutableRawPointer?
    let conninfoFree: @Sendable @convention(c) (UnsafeMutableRawPointer?) -> Void
    let freemem: @Sendable @convention(c) (UnsafeMutableRawPointer?) -> Void

    // A connection.
    let connectStartParams: @Sendable @convention(c) (Texts, Texts, CInt) -> Connection?
    let connectPoll: @Sendable @convention(c) (Connection) -> CInt
    let finish: @Sendable @convention(c) (Connection) -> Void
    let status: @Sendable @convention(c) (Connection) -> CInt
    let transactionStatus: @Sendable @convention(c) (Connection) -> CInt
    let errorMessage: @Sendable @convention(c) (Connection) -> Text?
    let setErrorVerbosity: @Sendable @convention(c) (Connection, CInt) -> CInt
    let setNoticeReceiver:
        @Sendable @convention(c) (
            Connection, NoticeReceiver?, UnsafeMutableRawPointer?
        ) -> NoticeReceiver?
    let connectionNeedsPassword: @Sendable @convention(c) (Connection) -> CInt
    let serverVersion: @Sendable @convention(c) (Connection) -> CInt
    let backendPID: @Sendable @convention(c) (Connection) -> CInt
    let socket: @Sendable @convention(c) (Connection) -> CInt
    let setnonblocking: @Sendable @convention(c) (Connection, CInt) -> CInt

    // What is sent.
    let sendQuery: @Sendable @convention(c) (Connection, Text) -> CInt
    let sendQueryParams:
        @Sendable @convention(c) (
            Connection, Text, CInt, UnsafePointer<UInt32>?, Texts?, UnsafePointer<CInt>?,
            UnsafePointer<CInt>?, CInt
        ) -> CInt
    let sendPrepare:
        @Sendable @convention(c) (Connection, Text, Text, CInt, UnsafePointer<UInt32>?) -> CInt
    let sendQueryPrepared:
        @Sendable @convention(c) (
            Connection, Text, CInt, Texts?, UnsafePointer<CInt>?, UnsafePointer<CInt>?, CInt
        ) -> CInt
    let enterPipelineMode: @Sendable @convention(c) (Connection) -> CInt
    let exitPipelineMode: @Sendable @convention(c) (Connection) -> CInt
    let pipelineSync: @Sendable @convention(c) (Connection) -> CInt
    let sendFlushRequest: @Sendable @convention(c) (Connection) -> CInt
    let setSingleRowMode: @Sendable @convention(c) (Connection) -> CInt
    let flush: @Sendable @convention(c) (Connection) -> CInt

    // What arrives.
    let consumeInput: @Sendable @convention(c) (Connection) -> CInt
    let isBusy: @Sendable @convention(c) (Connection) -> CInt
    let getResult: @Sendable @convention(c) (Connection) -> Result?
    /// Answers a `Notify`.
    let notifies: @Sendable @convention(c) (Connection) -> UnsafeMutableRawPointer?

    // A result.
    let resultStatus: @Sendable @convention(c) (Result?) -> CInt
    let resultErrorField: @Sendable @convention(c) (Result, CInt) -> Text?
    let resultErrorMessage: @Sendable @convention(c) (Result) -> Text?
    let clear: @Sendable @convention(c) (Result) -> Void
    let ntuples: @Sendable @convention(c) (Result) -> CInt
    let nfields: @Sendable @convention(c) (Result) -> CInt
    let ftype: @Sendable @convention(c) (Result, CInt) -> UInt32
    let getvalue: @Sendable @convention(c) (Result, CInt, CInt) -> Text?
    let getlength: @Sendable @convention(c) (Result, CInt, CInt) -> CInt
    let getisnull: @Sendable @convention(c) (Result, CInt, CInt) -> CInt
    let cmdStatus: @Sendable @convention(c) (Result) -> Text?
    let cmdTuples: @Sendable @convention(c) (Result) -> Text?

    /// PQconninfoOption.
    struct ConnectOption {
        var keyword: Text?
        var environment: Text?
        var compiled: Text?
        var value: MutableText?
        var label: Text?
        var display: Text?
        var size: CInt
    }

    /// PGnotify.
    struct Notify {
        var channel: Text?
        var backendPID: CInt
        var payload: Text?
    }

    /// ConnStatusType.
    enum Status {
        static let ok: CInt = 0
        static let bad: CInt = 1
    }

    /// PostgresPollingStatusType.
    enum Polling {
        static let failed: CInt = 0
        static let reading: CInt = 1
        static let ok: CInt = 3
    }

    /// PGTransactionStatusType.
    enum Transaction { static let idle: CInt = 0 }

    /// PGVerbosity.
    enum Verbosity {
        static let standard: CInt = 1
        static let verbose: CInt = 2
    }

    /// ExecStatusType.
    enum ResultStatus {
        static let emptyQuery: CInt = 0
        static let commandOK: CInt = 1
        static let tuplesOK: CInt = 2
        static let copyOut: CInt = 3
        static let copyIn: CInt = 4
        static let copyBoth: CInt = 8
        static let singleTuple: CInt = 9
        static let pipelineSync: CInt = 10
        static let pipelineAborted: CInt = 11
    }

    /// Of an error (postgres_ext.h).
    enum Field {
        static let severity = CInt(UInt8(ascii: "V"))
        static let sqlState = CInt(UInt8(ascii: "C"))
        static let message = CInt(UInt8(ascii: "M"))
        static let detail = CInt(UInt8(ascii: "D"))
        static let table = CInt(UInt8(ascii: "t"))
        static let constraint = CInt(UInt8(ascii: "n"))
        static let sourceFunction = CInt(UInt8(ascii: "R"))
    }
}
