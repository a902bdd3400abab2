// SPDX-License-Identifier: Apache-2.0

//go:build !race

package api_test

// raceDetector tells that the tests run with the race detector.
const raceDetector = false
