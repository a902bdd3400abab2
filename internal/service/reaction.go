// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/apierr"
)

// refuseReaction refuses requests about reactions to messages. The protocol defines the requests
// but not how reactions are delivered.
func refuseReaction(context.Context, *Request) (Answer, error) {
	return Answer{}, apierr.New(apierr.IllegalArgument, "this server does not support reactions to messages")
}
