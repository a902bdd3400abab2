// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

/** The states of an extension. Methods of extension points are called only while it is started. */
public enum ExtensionState {
    /** It was made, and {@link AppExtension#start()} has not succeeded yet. */
    LOADED,
    /** It takes part. */
    STARTED,
    /** It takes no part until it is resumed. */
    PAUSED,
    /** It never takes part again. */
    STOPPED
}
