// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

/**
 * A frame: its length in four bytes, its kind in one, the number of the request in eight, and a
 * body.
 *
 * @param kind one of the constants of this class
 * @param id the number of the request that it starts, responds to, or cancels; 0 if there is none
 * @param body the body
 */
public record Frame(int kind, long id, In body) {
    /** The size of the header before the body. */
    public static final int HEADER = 13;

    /** The maximum length of a frame, which includes everything but the length itself. */
    public static final int LIMIT = 16 << 20;

    /** The version of the protocol of this host. */
    public static final int VERSION = 3;

    /** From the server: its introduction. */
    public static final int HELLO = 1;
    /** From the host: its response to HELLO. */
    public static final int READY = 2;
    /** From the server: load a plugin. */
    public static final int LOAD = 3;
    /** From the server: unload a plugin. */
    public static final int UNLOAD = 4;
    /** From the server: run a hook of an extension. */
    public static final int HOOK = 5;
    /** From the server: call a method of an extension. */
    public static final int CALL = 6;
    /** From both sides: the result of a request. */
    public static final int RESULT = 7;
    /** From both sides: the failure of a request. */
    public static final int ERROR = 8;
    /** From the server: cancel a request. */
    public static final int CANCEL = 9;
    /** From the server: dump all threads. */
    public static final int DUMP = 10;
    /** From the server: report memory usage. */
    public static final int STATS = 11;
    /** From the server: end the process. */
    public static final int STOP = 12;
    /** From the host: a line for the log of the server. */
    public static final int LOG = 13;
    /** From the host: a plugin's request to the server. */
    public static final int ASK = 14;
    /** From the host: a plugin ended the process. */
    public static final int EXIT = 15;
    /** From the server: use a Java class or object. */
    public static final int OBJECT = 16;
    /** From the host: a Java object calls a function of the server. */
    public static final int FUNCTION = 17;
    /** From the server: control the flight recording of the JVM. */
    public static final int RECORD = 18;
    /** From the host: a plugin is about to end the process. */
    public static final int CULPRIT = 19;
    /** From the server: the number of levels that it logs, the most important first. */
    public static final int LEVEL = 20;
    /** From the host: an uncaught exception ended a thread of a plugin. */
    public static final int UNCAUGHT = 21;
}
