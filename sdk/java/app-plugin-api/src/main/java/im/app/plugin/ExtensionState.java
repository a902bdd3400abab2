// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/** The states of an extension. Methods of extension points are called only while it is started. */
public enum ExtensionState {
    /** It was created, and {@link AppExtension#start()} has not succeeded yet. */
    LOADED,
    /** It receives calls. */
    STARTED,
    /** It receives no calls until it is resumed. */
    PAUSED,
    /** It never receives calls again. */
    STOPPED
}
