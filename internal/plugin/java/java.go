// SPDX-License-Identifier: Apache-2.0

// Package java runs plugins that are written in Java. They run in a JVM of their own, which the package starts with the
// first plugin, speaks to over two pipes, and starts anew when it dies.
//
// It knows nothing of who is called when, or of what a failure means: the package above does. What happens inside the
// JVM is the business of the program in sdk/java.
package java
