// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.wire;

/**
 * A frame: its length in four bytes, its kind in one, the number of the request in eight, and a body.
 *
 * @param kind one of the constants of this class
 * @param id the number of the request that it is, or answers, or cancels; 0 if it is neither
 * @param body what it says
 */
public record Frame(int kind, long id, In body) {
    /** The size of what is before the body. */
    public static final int HEADER = 13;

    /** The largest length of a frame, which counts everything but the length itself. */
    public static final int LIMIT = 16 << 20;

    /** The version of the protocol that this host speaks. */
    public static final int VERSION = 3;

    /** The server introduces itself. */
    public static final int HELLO = 1;
    /** The host answers to that. */
    public static final int READY = 2;
    /** The server wants a plugin loaded. */
    public static final int LOAD = 3;
    /** The server wants a plugin forgotten. */
    public static final int UNLOAD = 4;
    /** The server runs a hook of an extension. */
    public static final int HOOK = 5;
    /** The server calls a method of an extension. */
    public static final int CALL = 6;
    /** A request went well. */
    public static final int RESULT = 7;
    /** A request failed. */
    public static final int ERROR = 8;
    /** The server has lost interest in a request. */
    public static final int CANCEL = 9;
    /** The server wants to know what all threads do. */
    public static final int DUMP = 10;
    /** The server wants to know how much memory is used. */
    public static final int STATS = 11;
    /** The server wants the host to end. */
    public static final int STOP = 12;
    /** Something for the log of the server. */
    public static final int LOG = 13;
    /** A plugin wants something of the server. */
    public static final int ASK = 14;
    /** A plugin ended the process. */
    public static final int EXIT = 15;
    /** The server uses a class or an object of Java. */
    public static final int OBJECT = 16;
    /** An object of Java calls a function of the server. */
    public static final int FUNCTION = 17;
    /** The server wants the JVM to record what it does. */
    public static final int RECORD = 18;
    /** A plugin is about to end the process. */
    public static final int CULPRIT = 19;
    /** The server tells how many levels it logs, the most important first. */
    public static final int LEVEL = 20;
    /** An exception that nobody caught ended a thread of a plugin. */
    public static final int UNCAUGHT = 21;
}
