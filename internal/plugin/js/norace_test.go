// SPDX-License-Identifier: Apache-2.0

//go:build !race

package js

// raceDetector tells that the tests run with the race detector.
const raceDetector = false
