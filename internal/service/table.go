// SPDX-License-Identifier: Apache-2.0

package service

import "example.org/app/internal/wire"

// table has the handler of each kind of request.
func (d *Dispatcher) table() map[wire.Kind]handler {
	return map[wire.Kind]handler{
		8:  on((*wire.AppRequest).GetCreateMessageRequest, d.createMessage),
		9:  on((*wire.AppRequest).GetQueryMessagesRequest, d.queryMessages),
		10: on((*wire.AppRequest).GetUpdateMessageRequest, d.updateMessage),
	}
}
