// SPDX-License-Identifier: Apache-2.0

extension EventBus: EventPublisher {}
