// SPDX-License-Identifier: Apache-2.0

// A job's definition, its numbers and its limits are part of what a client has to do with.
@_exported public import JobModel
