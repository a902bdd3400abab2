// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package js

import "time"

var begin = time.Now()

// processTime stands in for how long the process has used processors: how long it has run.
func processTime() time.Duration { return time.Since(begin) }
