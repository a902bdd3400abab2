// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.AppExtension;
import im.app.plugin.host.Sources;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PluginClassesTest {
    /** Every class is nested in one that is not used, so that all are compiled at once. */
    private static final String CLASSES =
            """
            package t;
            import im.app.plugin.*;
            import im.app.plugin.model.*;
            import im.app.service.infra.plugin.extension.*;
            import im.app.gateway.infra.plugin.extension.*;
            import java.util.*;
            import java.util.concurrent.*;
            public class All {
                static Collection<Class<? extends AppExtension>> of(Class<?> c) { return (Collection) List.of(c); }
                public static class NoPlugin {}
                public static class Hidden extends AppPlugin { Hidden() {} public Collection<Class<? extends AppExtension>> getExtensions() { return null; } }
                public static class Argument extends AppPlugin { public Argument(int i) {} public Collection<Class<? extends AppExtension>> getExtensions() { return null; } }
                public abstract static class Abstract extends AppPlugin {}
                public class Inner extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return null; } }
                public static class Failing extends AppPlugin { public Failing() { throw new IllegalStateException("no licence"); } public Collection<Class<? extends AppExtension>> getExtensions() { return null; } }
                public static class Initializer extends AppPlugin { static int i = Integer.parseInt("x"); public Collection<Class<? extends AppExtension>> getExtensions() { return null; } }
                public static class Null extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return null; } }
                public static class Throwing extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { throw new IllegalStateException("later"); } }
                public static class Empty extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(); } }
                public static class OnlyNull extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { List<Class<? extends AppExtension>> l = new ArrayList<>(); l.add(null); return l; } }
                public static class NotAClass extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return (Collection) List.of("text"); } }

                public static class PNoExtension extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(NoPlugin.class); } }
                public static class NoPoint extends AppExtension {}
                public static class PNoPoint extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(NoPoint.class); } }
                public static class HiddenExtension extends AppExtension implements ClientRequestHandler { HiddenExtension() {} }
                public static class PHidden extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(HiddenExtension.class); } }
                public static class Both extends AppExtension implements ClientRequestHandler {
                    @Override public ClientRequest transform(ClientRequest r) { return r; }
                    @Override public CompletionStage<ClientRequest> transformAsync(ClientRequest r) { return null; }
                }
                public static class PBoth extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(Both.class); } }
                public static class Forwarding extends AppExtension implements ClientRequestHandler, ConferenceServiceProvider {
                    @Override public ClientRequest transform(ClientRequest r) { return r; }
                    @Override public CompletionStage<ClientRequest> transformAsync(ClientRequest r) throws Exception { return ClientRequestHandler.super.transformAsync(r); }
                    @Override public RequestHandlerResult handle(ClientRequest r) throws Exception { return ClientRequestHandler.super.handle(r); }
                    @Override public CompletionStage<RequestHandlerResult> handleAsync(ClientRequest r) throws Exception { return ClientRequestHandler.super.handleAsync(r); }
                    @Override public Integer countActiveMeetingsByUserId(long id) throws Exception { return ConferenceServiceProvider.super.countActiveMeetingsByUserId(id); }
                    @Override public CompletionStage<Integer> countActiveMeetingsByUserIdAsync(long id) throws Exception { return ConferenceServiceProvider.super.countActiveMeetingsByUserIdAsync(id + 1); }
                }
                public static class PForwarding extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(Forwarding.class); } }
                public interface Trait extends ClientRequestHandler {
                    @Override default ClientRequest transform(ClientRequest r) { return null; }
                    static ClientRequest transform$(Trait t, ClientRequest r) { return t.transform(r); }
                    @Override default CompletionStage<ClientRequest> transformAsync(ClientRequest r) throws Exception { return ClientRequestHandler.super.transformAsync(r); }
                    static CompletionStage<ClientRequest> transformAsync$(Trait t, ClientRequest r) throws Exception { return t.transformAsync(r); }
                }
                public static class Traits extends AppExtension implements Trait {
                    @Override public ClientRequest transform(ClientRequest r) { return Trait.transform$(this, r); }
                    @Override public CompletionStage<ClientRequest> transformAsync(ClientRequest r) throws Exception { return Trait.transformAsync$(this, r); }
                }
                public static class PTraits extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(Traits.class); } }
                public static class Marked extends AppExtension implements ClientRequestHandler, UserAuthenticator {
                    @ExtensionPointMethod public ClientRequest transform(String s, int[] i) { return null; }
                }
                public static class PMarked extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(Marked.class); } }

                public static class Base extends AppExtension implements ClientRequestHandler {
                    @ExtensionPointMethod @Override public ClientRequest transform(ClientRequest r) { return r; }
                }
                public interface Mixin extends UserAuthenticator {
                    @Override default CompletionStage<Boolean> authenticateAsync(UserLoginInfo i) { return null; }
                }
                public static class Good extends Base implements Mixin {}
                public static class PGood extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(Good.class); } }
                public static class Needy extends AppExtension implements ClientRequestHandler { public extra.Dep dep; public extra.Dep dep() { return dep; } }
                public static class PNeedy extends AppPlugin { public Collection<Class<? extends AppExtension>> getExtensions() { return of(Needy.class); } }
            }
            """;

    @TempDir
    static Path folder;

    static Map<String, byte[]> classes;
    static Path jar;
    private final List<String> later = Collections.synchronizedList(new ArrayList<>());

    @BeforeAll
    static void build() throws Exception {
        classes = new HashMap<>(Sources.compile(
                CLASSES,
                "package extra; public class Dep {}",
                "package com.google.protobuf; public class ByteString { public String mine() { return \"mine\"; } }",
                "package t; public class User { public static String use() { return new com.google.protobuf.ByteString() {}.mine(); } }"
                        .replace("new com.google.protobuf.ByteString() {}.mine()", "com.google.protobuf.ByteString.class.getName()"),
                "package t; public class Peek { public static Object peek() throws Exception { return Class.forName(\"im.app.plugin.host.Host\"); } }"));
        classes.remove("extra.Dep");
        jar = Sources.jar(folder.resolve("all.jar"), classes, Map.of("a text.txt", "from the jar", "META-INF/services/t.None", "x"));
    }

    private PluginClasses load(Path file, String name, boolean strict) throws LoadException {
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try {
            return PluginClasses.load(new PluginClasses.Request(3, "id", name, file.toFile(), file.getFileName().toString(), strict), l -> {}, later::add);
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    @Test
    void everyViolationIsASentence() {
        Map<String, String> sentences = new HashMap<>();
        sentences.put("t.Nowhere", "there is no class t.Nowhere in all.jar, which its descriptor names as the class of the plugin");
        sentences.put("java.lang.String", "class java.lang.String is a class of the server, not of all.jar: name a class of the plugin in its descriptor");
        sentences.put("t.All$NoPlugin", "class t.All$NoPlugin is the class of the plugin, so it must extend im.app.plugin.AppPlugin");
        sentences.put("t.All$Hidden", "class t.All$Hidden must have a public constructor without arguments");
        sentences.put("t.All$Argument", "class t.All$Argument must have a public constructor without arguments");
        sentences.put("t.All$Abstract", "class t.All$Abstract is abstract; the host makes an instance of it, so it must not be");
        sentences.put("t.All$Inner", "class t.All$Inner is an inner class; the host makes an instance of it, so it must be static");
        sentences.put("t.All$Failing", "the constructor of class t.All$Failing failed");
        sentences.put("t.All$Initializer", "class t.All$Initializer could not be initialized");
        sentences.put("t.All$Null", "getExtensions() of class t.All$Null returned null; it must return the classes of the extensions");
        sentences.put("t.All$Throwing", "getExtensions() of class t.All$Throwing failed");
        sentences.put("t.All$Empty", "getExtensions() of class t.All$Empty returned no class; a plugin has at least one extension");
        sentences.put("t.All$OnlyNull", "getExtensions() of class t.All$OnlyNull returned no class; a plugin has at least one extension");
        sentences.put("t.All$NotAClass", "getExtensions() of class t.All$NotAClass returned an instance of java.lang.String where a class must be");
        sentences.put("t.All$PNoExtension", "class t.All$NoPlugin is among the extensions of the plugin, so it must extend im.app.plugin.AppExtension");
        sentences.put("t.All$PNoPoint", "class t.All$NoPoint implements no extension point; an extension implements at least one of AdminActionHandler, ");
        sentences.put("t.All$PHidden", "class t.All$HiddenExtension must have a public constructor without arguments");
        sentences.put("t.All$PMarked", "method transform(String, int[]) of class t.All$Marked is marked with @ExtensionPointMethod, but there is no such method in UserAuthenticator, ClientRequestHandler");
        sentences.forEach((name, sentence) -> {
            LoadException e = assertThrows(LoadException.class, () -> load(jar, name, false), name);
            assertTrue(e.getMessage().startsWith(sentence), e.getMessage());
        });
    }

    private static List<String> methods(ExtensionClass c) {
        return c.points().stream().flatMap(p -> IntStream.range(0, p.methods().size())
                .filter(i -> c.methods().contains(p.first() + i))
                .mapToObj(i -> p.methods().get(i).name() + (c.async(p.first() + i) ? "Async" : ""))).toList();
    }

    @Test
    void ofBothTheOneThatAnswersLaterIsCalled() throws Exception {
        PluginClasses plugin = load(jar, "t.All$PBoth", false);
        assertEquals(List.of("transformAsync"), methods(plugin.extensions().get(0)));
        assertEquals(List.of("class t.All$Both overrides both transform and transformAsync of ClientRequestHandler; only transformAsync is called"), plugin.warnings());
        plugin.loader().close();
    }

    @Test
    void forwardersOverrideNothing() throws Exception {
        PluginClasses plugin = load(jar, "t.All$PForwarding", false);
        assertEquals(List.of("transform", "countActiveMeetingsByUserIdAsync"), methods(plugin.extensions().get(0)));
        assertEquals(List.of(), plugin.warnings());
        plugin.loader().close();
        plugin = load(jar, "t.All$PTraits", false);
        assertEquals(List.of("transform"), methods(plugin.extensions().get(0)));
        assertEquals(List.of(), plugin.warnings());
        plugin.loader().close();
    }

    @Test
    void methodsOfSuperclassesAndInterfacesCount() throws Exception {
        PluginClasses plugin = load(jar, "t.All$PGood", true);
        ExtensionClass good = plugin.extensions().get(0);
        assertEquals("t.All$Good", good.name());
        assertEquals(List.of("UserAuthenticator", "ClientRequestHandler"), good.points().stream().map(p -> p.type().getSimpleName()).toList());
        assertEquals(2, good.methods().size());
        assertTrue(good.async(good.methods().get(0)));
        assertTrue(!good.async(good.methods().get(1)));
        assertTrue(good.construct() instanceof AppExtension);
        plugin.loader().close();
    }

    @Test
    void missingClassesArePassedOnWhole() {
        NoClassDefFoundError e = assertThrows(NoClassDefFoundError.class, () -> load(jar, "t.All$PNeedy", false));
        assertEquals("extra/Dep", e.getMessage());
    }

    @Test
    void newerBytecodeIsRefusedWithBothVersions() throws Exception {
        Map<String, byte[]> newer = new HashMap<>(classes);
        byte[] b = newer.get("t.All$PGood").clone();
        b[6] = 0;
        b[7] = 99;
        newer.put("t.All$PGood", b);
        Path file = Sources.jar(folder.resolve("newer.jar"), newer, Map.of());
        UnsupportedClassVersionError e = assertThrows(UnsupportedClassVersionError.class, () -> load(file, "t.All$PGood", false));
        assertTrue(e.getMessage().startsWith("class t.All$PGood of newer.jar is compiled for Java 55 (class file version 99), but this host runs Java "
                + Runtime.version().feature() + ", which reads class files up to version " + (Runtime.version().feature() + 44)), e.getMessage());
    }

    @Test
    void classesOfTheServerComeFirst() throws Exception {
        PluginClasses plugin = load(jar, "t.All$PGood", false);
        assertSame(com.google.protobuf.ByteString.class, plugin.loader().loadClass("com.google.protobuf.ByteString"));
        assertSame(AppExtension.class, plugin.loader().loadClass("im.app.plugin.AppExtension"));
    }

    @Test
    void strictnessIsAnErrorWhenTheClassIsUsed() throws Exception {
        PluginClasses plugin = load(jar, "t.All$PGood", true);
        LinkageError e = assertThrows(LinkageError.class, () -> plugin.loader().loadClass("com.google.protobuf.ByteString"));
        assertEquals("class com.google.protobuf.ByteString is in all.jar and in the server, too: leave it out of the jar, or move it into another package when the jar is built",
                e.getMessage());
    }

    @Test
    void pluginsSeeNeitherTheHostNorEachOther() throws Exception {
        PluginLoader one = load(jar, "t.All$PGood", false).loader();
        PluginLoader two = load(jar, "t.All$PGood", false).loader();
        assertTrue(one.loadClass("t.All") != two.loadClass("t.All"));
        assertThrows(ClassNotFoundException.class, () -> one.loadClass("im.app.plugin.host.Host"));
        assertThrows(ClassNotFoundException.class, () -> one.loadClass("im.app.plugin.host.wire.Out"));
        assertThrows(ClassNotFoundException.class, () -> one.loadClass("org.junit.jupiter.api.Test"));
        assertNotNull(one.loadClass("java.sql.Connection"));
        assertNotNull(one.loadClass("im.app.plugin.host.guard.Monitors"));
    }

    @Test
    void pluginsGetTheirOwnAsm() throws Exception {
        Map<String, byte[]> more = new HashMap<>(classes);
        more.putAll(Sources.compile("package org.objectweb.asm; public class ClassReader { public static String whose() { return \"the plugin's\"; } }"));
        PluginLoader loader = load(Sources.jar(folder.resolve("asm.jar"), more, Map.of()), "t.All$PGood", true).loader();
        Class<?> own = loader.loadClass("org.objectweb.asm.ClassReader");
        assertSame(loader, own.getClassLoader());
        assertEquals("the plugin's", own.getMethod("whose").invoke(null));
        assertThrows(ClassNotFoundException.class, () -> loader.loadClass("org.objectweb.asm.ClassWriter"));
        assertThrows(ClassNotFoundException.class, () -> loader.loadClass("im.app.plugin.host.shaded.asm.ClassReader"));
    }

    @Test
    void aClosedLoaderHasNeitherClassesNorResources() throws Exception {
        PluginLoader loader = load(jar, "t.All$PGood", false).loader();
        loader.close();
        assertThrows(ClassNotFoundException.class, () -> loader.loadClass("t.Unknown"));
        assertNull(loader.getResource("a text.txt"));
        assertNull(loader.getResourceAsStream("a text.txt"));
    }

    @Test
    void resourcesComeFromTheJarFirst() throws Exception {
        PluginLoader loader = load(jar, "t.All$PGood", false).loader();
        URL url = loader.getResource("a text.txt");
        try (InputStream in = url.openStream()) {
            assertEquals("from the jar", new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
        try (InputStream in = loader.getResourceAsStream("a text.txt")) {
            assertEquals(12, in.readAllBytes().length);
        }
        assertEquals(12, url.openConnection().getContentLengthLong());
        assertEquals(1, Collections.list(loader.getResources("META-INF/services/t.None")).size());
        assertNull(loader.getResource("nowhere.txt"));
        assertNull(loader.getResource("META-INF/services/org.junit.platform.engine.TestEngine"));
        assertNull(loader.getResourceAsStream("nowhere.txt"));
        assertNotNull(loader.getResource("im/app/plugin/AppExtension.class"));
        assertEquals("all.jar", Path.of(loader.loadClass("t.All").getProtectionDomain().getCodeSource().getLocation().toURI()).getFileName().toString());
    }

    @Test
    void filesThatAreNoJarsAreRefused() throws Exception {
        Path file = Files.writeString(folder.resolve("text.jar"), "this is no jar");
        LoadException e = assertThrows(LoadException.class, () -> load(file, "t.All$PGood", false));
        assertTrue(e.getMessage().startsWith("text.jar cannot be opened as a jar: "), e.getMessage());
        assertThrows(LoadException.class, () -> load(folder.resolve("nowhere.jar"), "t.All$PGood", false));
    }

    @Test
    void classesThatCannotBeRewrittenAreLoadedAndNamed() throws Exception {
        Map<String, byte[]> more = new HashMap<>(classes);
        more.putAll(Sources.compile("package t; public class Huge { static int n; public static int x(Object o) {" + "synchronized (o) { n++; }\n".repeat(2300) + " return n; } }"));
        PluginLoader loader = load(Sources.jar(folder.resolve("huge.jar"), more, Map.of()), "t.All$PGood", false).loader();
        assertEquals(2300, loader.loadClass("t.Huge").getMethod("x", Object.class).invoke(null, "o"));
        assertEquals(List.of("class t.Huge of huge.jar is loaded without a check of what it locks: a method gets longer than 65535 bytes"), later);
    }
}
