// SPDX-License-Identifier: Apache-2.0
//
// Classes of Java in a plugin in JavaScript. What they have is known when the plugin runs, not to these types.

/**
 * The methods of a class that nobody described. Say with `as` what a result is, or describe what you use:
 * `Java.type<{ size(): number }>('java.util.HashMap')`.
 */
interface JavaMethods {
  [name: string]: (...args: unknown[]) => unknown;
}

/** What every object of Java has. */
interface JavaBase {
  equals(other: unknown): boolean;
  hashCode(): number;
  toString(): string;
}

/** An object of Java: its public methods and fields, by their names. */
type JavaObject<T extends object = JavaMethods> = T & JavaBase;

/** An array, a collection or a map of Java. Collections and arrays have a length; arrays and lists have items by their indexes. */
interface JavaCollection<T = unknown> extends JavaBase, Iterable<T> {
  readonly length: number;
  readonly [index: number]: T;
}

/** A class of Java: its constructors, its static methods and fields, and its nested classes. */
type JavaClass<T extends object = JavaMethods, Statics extends object = JavaMethods> = Statics & {
  new (...args: unknown[]): JavaObject<T>;
  readonly name: string;
  /** The java.lang.Class. */
  readonly class: JavaObject;
  [Symbol.hasInstance](value: unknown): boolean;
};

/** What is thrown when a method of Java throws. It is also an instance of the classes of the exception. */
interface JavaError extends Error {
  /** The name of the class, as name is. */
  readonly className: string;
  readonly javaException: JavaObject;
  readonly javaStack: string;
  /** File and line, if they are known. */
  readonly javaLocation: string;
}

/** Classes of Java, which live in the Java host. It is started when the first class is used. */
declare const Java: {
  /**
   * A class by its full name, such as 'java.util.HashMap', 'java.util.Map.Entry' or 'int[]'. The classes of the JDK and of
   * the plugin API can be used.
   */
  type<T extends object = JavaMethods, Statics extends object = JavaMethods>(name: string): JavaClass<T, Statics>;
  /** A copy of what an array, a collection or a map of Java holds: an array, a Uint8Array for bytes, or a Map. */
  from(object: JavaBase): unknown[] | Uint8Array | Map<unknown, unknown>;
  /** An array or collection of Java with copies of the values; an array of objects unless a type is given. */
  to(values: Iterable<unknown> | ArrayLike<unknown> | object, type?: string | JavaClass): JavaCollection;
  /** Whether a value is an object or a class of Java. */
  isJavaObject(value: unknown): boolean;
};
