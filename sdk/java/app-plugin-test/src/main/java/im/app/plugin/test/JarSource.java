// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import im.app.plugin.AppPlugin;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * The location of a plugin's classes.
 *
 * @param place a folder or a jar
 * @param id the id of the plugin
 * @param version its version
 * @param className the class of the plugin
 */
record JarSource(Path place, String id, String version, String className) {

    static JarSource of(Class<? extends AppPlugin> plugin) {
        Path place = place(plugin);
        String descriptor = descriptor(place);
        String id = value(descriptor, "id");
        return new JarSource(place, id.isEmpty() ? plugin.getSimpleName() : id, value(descriptor, "version"), plugin.getName());
    }

    static JarSource of(Path jar) {
        String descriptor = descriptor(jar);
        if (value(descriptor, "id").isEmpty() || value(descriptor, "class").isEmpty()) {
            throw new IllegalArgumentException(jar + " is not a plugin: it has no plugin.yaml with an id and a class at its root");
        }
        return new JarSource(jar.toAbsolutePath(), value(descriptor, "id"), value(descriptor, "version"), value(descriptor, "class"));
    }

    private static Path place(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException | NullPointerException e) {
            throw new IllegalArgumentException("it is not known where " + type.getName() + " comes from");
        }
    }

    String name() {
        return Files.isDirectory(place) ? id + ".jar" : place.getFileName().toString();
    }

    /** Returns whether a jar must be created. */
    boolean isTemporary(List<Class<?>> libraries) {
        return Files.isDirectory(place) || !libraries.isEmpty();
    }

    private static String descriptor(Path place) {
        try {
            if (Files.isDirectory(place)) {
                Path file = place.resolve("plugin.yaml");
                return Files.exists(file) ? Files.readString(file) : "";
            }
            try (ZipFile zip = new ZipFile(place.toFile())) {
                ZipEntry entry = zip.getEntry("plugin.yaml");
                if (entry == null) {
                    return "";
                }
                try (InputStream in = zip.getInputStream(entry)) {
                    return new String(in.readAllBytes(), StandardCharsets.UTF_8);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("read " + place, e);
        }
    }

    /** Returns the value of a key of the descriptor, on the same line; empty if it is missing. */
    private static String value(String descriptor, String key) {
        for (String line : descriptor.lines().toList()) {
            if (line.startsWith(key + ":")) {
                String value = line.substring(key.length() + 1).strip();
                if (value.length() > 1 && (value.startsWith("\"") || value.startsWith("'"))) {
                    int end = value.indexOf(value.charAt(0), 1);
                    return end < 0 ? value : value.substring(1, end);
                }
                int comment = value.indexOf(" #");
                return comment < 0 ? value : value.substring(0, comment).strip();
            }
        }
        return "";
    }

    /** Creates a jar of the plugin and its libraries. */
    Path pack(Path target, List<Class<?>> libraries) throws IOException {
        Set<String> names = new HashSet<>();
        try (OutputStream file = Files.newOutputStream(target); ZipOutputStream out = new ZipOutputStream(file)) {
            add(out, names, place);
            for (Class<?> library : libraries) {
                add(out, names, place(library));
            }
        }
        return target;
    }

    private static void add(ZipOutputStream out, Set<String> names, Path place) throws IOException {
        if (Files.isDirectory(place)) {
            try (Stream<Path> files = Files.walk(place)) {
                for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                    add(out, names, place.relativize(file).toString().replace('\\', '/'), Files.readAllBytes(file));
                }
            }
            return;
        }
        try (ZipFile zip = new ZipFile(place.toFile())) {
            for (ZipEntry entry : zip.stream().filter(e -> !e.isDirectory()).toList()) {
                try (InputStream in = zip.getInputStream(entry)) {
                    add(out, names, entry.getName(), in.readAllBytes());
                }
            }
        }
    }

    private static void add(ZipOutputStream out, Set<String> names, String name, byte[] data) throws IOException {
        if (names.add(name)) {
            out.putNextEntry(new ZipEntry(name));
            out.write(data);
            out.closeEntry();
        }
    }
}
