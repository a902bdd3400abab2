// SPDX-License-Identifier: Apache-2.0

package java

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"example.org/app/internal/scratch"
)

// folderPattern is the name pattern of folders with copies of jars.
const folderPattern = "app-java-"

// A folder contains the files for JVMs: the host's jar and copies of the plugins, because operators
// may change files in use.
type folder struct{ *scratch.Folder }

// write puts a file into the folder.
func (f folder) write(name string, data []byte) (path string, err error) {
	path = filepath.Join(f.Path, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		os.Remove(path)
		return "", fmt.Errorf("copy a jar for the Java host: %w", err)
	}
	return path, nil
}

// writeHost puts the host's jar into the folder, with the date that class caches require.
func (f folder) writeHost(jar []byte) (path string, err error) {
	if path, err = f.write(HostJar, jar); err != nil {
		return "", err
	}
	_ = os.Chtimes(path, jarTime, jarTime) // Without this date JVMs use no class cache.
	return path, nil
}

// makeFolder creates the folder with the host's jar unless it exists, and returns both paths.
func (h *Host) makeFolder(jar []byte) (dir, path string, err error) {
	h.folderMu.Lock()
	defer h.folderMu.Unlock()
	if h.folder.Folder != nil {
		return h.folder.Path, h.jar, nil
	}
	if h.folder.Folder, err = scratch.Open(h.opts.Folder, folderPattern); err != nil {
		return "", "", err
	}
	if h.jar, err = h.folder.writeHost(jar); err != nil {
		err = errors.Join(err, h.folder.Remove())
		h.folder = folder{}
		return "", "", err
	}
	return h.folder.Path, h.jar, nil
}

// removeFolder removes the folder if no JVM uses it.
func (h *Host) removeFolder() {
	h.folderMu.Lock()
	defer h.folderMu.Unlock()
	h.mu.Lock()
	used := slices.ContainsFunc(h.slots, func(l *slot) bool { return l.needed() || l.current != nil }) || h.spare.starting != nil || h.spare.session != nil
	h.mu.Unlock()
	if h.folder.Folder == nil || used {
		return
	}
	if err := h.folder.Remove(); err != nil {
		h.opts.Log.Warn("the folder of the Java host could not be removed", slog.Any("error", err))
	}
	h.folder = folder{}
}

// keep copies a plugin's jar to the folder and returns the path of the copy.
func (h *Host) keep(data []byte) (path string, err error) {
	h.folderMu.Lock()
	defer h.folderMu.Unlock()
	h.copies++
	return h.folder.write(fmt.Sprintf("plugin-%d.jar", h.copies), data)
}
