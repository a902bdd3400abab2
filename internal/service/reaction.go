// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/apierr"
)

// refuseReaction answers requests about reactions to messages. The protocol has the requests but says nothing of how
// reactions reach anybody.
func refuseReaction(context.Context, *Request) (Answer, error) {
	return Answer{}, apierr.New(apierr.IllegalArgument, "this server does not support reactions to messages")
}
