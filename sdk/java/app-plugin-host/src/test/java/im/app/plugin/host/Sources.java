// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Builds classes and jars from source text, so that tests show the plugins that they load. */
public final class Sources {
    private static final Pattern PACKAGE = Pattern.compile("package\\s+([\\w.]+)\\s*;");
    private static final Pattern TYPE = Pattern.compile("(?:class|interface|enum|record)\\s+(\\w+)");

    private Sources() {}

    /** Compiles source texts, each with one top-level type, and returns the classes by name. */
    public static Map<String, byte[]> compile(String... sources) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Map<String, ByteArrayOutputStream> classes = new LinkedHashMap<>();
        List<JavaFileObject> files = new ArrayList<>();
        for (String source : sources) {
            files.add(new Source(source));
        }
        StringWriter messages = new StringWriter();
        JavaFileManager manager =
                new ForwardingJavaFileManager<JavaFileManager>(compiler.getStandardFileManager(null, null, null)) {
                    @Override
                    public JavaFileObject getJavaFileForOutput(
                            Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
                        return new SimpleJavaFileObject(URI.create("mem:///" + name.replace('.', '/') + ".class"), kind) {
                            @Override
                            public OutputStream openOutputStream() {
                                ByteArrayOutputStream out = new ByteArrayOutputStream();
                                classes.put(name, out);
                                return out;
                            }
                        };
                    }
                };
        List<String> options = List.of("--release", "21", "-proc:none", "-g", "-parameters", "-cp", System.getProperty("java.class.path"));
        if (!compiler.getTask(messages, manager, null, options, null, files).call()) {
            throw new IllegalArgumentException(messages.toString());
        }
        Map<String, byte[]> out = new LinkedHashMap<>();
        classes.forEach((name, bytes) -> out.put(name, bytes.toByteArray()));
        return out;
    }

    /** Writes classes into a jar. */
    public static Path jar(Path file, Map<String, byte[]> classes, Map<String, String> resources) throws IOException {
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file))) {
            for (Map.Entry<String, byte[]> e : classes.entrySet()) {
                jar.putNextEntry(new JarEntry(e.getKey().replace('.', '/') + ".class"));
                jar.write(e.getValue());
            }
            for (Map.Entry<String, String> e : resources.entrySet()) {
                jar.putNextEntry(new JarEntry(e.getKey()));
                jar.write(e.getValue().getBytes(java.nio.charset.StandardCharsets.UTF_8));
            }
        }
        return file;
    }

    /** Compiles source texts into a jar. */
    public static Path jar(Path file, String... sources) throws IOException {
        return jar(file, compile(sources), Map.of());
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String text) {
            super(URI.create("mem:///" + name(text) + ".java"), Kind.SOURCE);
            this.text = text;
        }

        private static String name(String text) {
            Matcher p = PACKAGE.matcher(text);
            String folder = p.find() ? p.group(1).replace('.', '/') + "/" : "";
            Matcher t = TYPE.matcher(text);
            if (!t.find()) {
                throw new IllegalArgumentException("no type in " + text);
            }
            return folder + t.group(1);
        }

        @Override
        public CharSequence getCharContent(boolean ignore) {
            return text;
        }
    }
}
