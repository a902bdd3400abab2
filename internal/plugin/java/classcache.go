// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"example.org/app/internal/scratch"
	"example.org/app/internal/sleep"
)

// A classCache is a folder of files from which JVMs map the classes of the host, parsed and linked,
// instead of reading its jar. That more than halves the time and the processor time of a start. A
// file is for one Java, one jar and the relevant flags; its name has a key of them and a checksum,
// because a JVM crashes on a damaged file.
type classCache struct {
	host *Host
	dir  string

	// attempted is true once the host has scheduled the creation of a file. The mutex of the host
	// guards it.
	attempted bool
}

// soundCaches are the verified files: their sizes and dates by path.
var soundCaches sync.Map

const (
	// cacheSuffix is the suffix of file names.
	cacheSuffix = ".classes"
	// maxCaches is how many files are kept: the most recently used ones.
	maxCaches = 4
	// cacheUse is how often the date of a file in use is updated.
	cacheUse = 24 * time.Hour
	// cacheTime bounds the creation of a file, which takes about 4 seconds of processor time.
	cacheTime = 10 * time.Minute
	// cacheNice is the additional niceness of JVMs that create a file in the background, if the
	// others have any.
	cacheNice = 5
	// aheadOfTimeJava is the first Java whose caches have linked classes; older ones have parsed
	// classes.
	aheadOfTimeJava = 25
)

// jarTime is the date of the host's jar. A JVM uses a cache only with a jar of the same date.
var jarTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hostDigest is the digest of the host's jar.
var hostDigest = sync.OnceValue(func() [sha256.Size]byte {
	data, _ := Jar(HostJar) // Without the jar no JVM is started.
	return sha256.Sum256(data)
})

// toolOptions are the environment variables with additional JVM flags.
var toolOptions = []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"}

// ownCaches are operators' flags that prevent the use of a cache, or select another one.
var ownCaches = []string{"-agentlib:", "-agentpath:", "-javaagent:", "-Xshare:", "-XX:SharedArchiveFile=", "-XX:ArchiveClassesAtExit=", "-XX:+AutoCreateSharedArchive", "-XX:AOT", "-Xbootclasspath", "--patch-module", "@"}

// irrelevant are flags that do not affect a cache.
var irrelevant = []string{"-Dapp.", "-Xmx", "-Xms", "-Xss", "-Xlog:", "-XX:TieredStopAtLevel=", "-XX:MaxHeapSize=", "-XX:MaxMetaspaceSize="}

// largeHeap is the heap size from which references may be wide, so that a cache for narrow ones is
// useless.
const largeHeap = 4 << 30

// key returns the key of caches for a Java and the operators' flags; "" means that none is
// possible.
func (c *classCache) key(java Runtime) string {
	h := c.host
	if c.dir == "" || h.opts.Debug.Port != 0 {
		return ""
	}
	flags := slices.Clone(h.opts.Flags)
	for _, name := range toolOptions {
		flags = append(flags, strings.Fields(os.Getenv(name))...)
	}
	isOneOf := func(flag string, prefixes []string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(flag, p) })
	}
	if slices.ContainsFunc(flags, func(f string) bool { return isOneOf(f, ownCaches) }) {
		return ""
	}
	sum := sha256.New()
	jar := hostDigest()
	sum.Write(jar[:])
	release, _ := os.ReadFile(filepath.Join(java.Home, "release"))
	fmt.Fprintf(sum, "%s\x00%s\x00%s\x00", java.Home, java.Version, release)
	for _, name := range []string{"lib/modules", "lib/server/libjvm.so", "lib/server/libjvm.dylib"} {
		if info, err := os.Stat(filepath.Join(java.Home, name)); err == nil {
			fmt.Fprintf(sum, "%s %d %d\x00", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	large := maxHeap(h.opts.MaxHeap, h.opts.Flags) >= largeHeap
	for _, flag := range flags {
		if large || !isOneOf(flag, irrelevant) {
			fmt.Fprintf(sum, "%s\x00", flag)
		}
	}
	if large {
		fmt.Fprintf(sum, "%d", h.opts.MaxHeap)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// find returns the file for a key; "" if there is none. It removes damaged files.
func (c *classCache) find(key string, log *slog.Logger) string {
	if c.checkFolder() != nil {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(escapeGlob(c.dir), key+"-*"+cacheSuffix))
	for _, path := range found {
		err := c.check(path)
		if err == nil {
			return path
		}
		log.Warn("the class cache of the Java host is not used", slog.String("file", path), slog.Any("error", err))
		if errors.Is(err, errDamaged) {
			c.discard(path)
		}
	}
	return ""
}

// checkFolder checks that only the server may have put classes into the folder.
func (c *classCache) checkFolder() error {
	info, err := os.Stat(c.dir)
	if err == nil && info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" { // Windows has no such bits.
		return fmt.Errorf("other users have write access to the folder: its mode is %#o instead of 0700", info.Mode().Perm())
	}
	return err
}

// escapeGlob returns a pattern that matches only the path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

var errDamaged = errors.New("it is damaged")

// check verifies a file's checksum, once.
func (c *classCache) check(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	identity := func(info os.FileInfo) string { return fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano()) }
	if known, _ := soundCaches.Load(path); known != identity(info) {
		sum, err := checksum(f)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(path, "-"+sum+cacheSuffix) {
			return errDamaged
		}
	}
	if now := time.Now(); now.Sub(info.ModTime()) > cacheUse {
		if os.Chtimes(path, now, now) == nil {
			if info, err = os.Stat(path); err != nil {
				return err
			}
		}
	}
	soundCaches.Store(path, identity(info))
	return nil
}

func checksum(r io.Reader) (string, error) {
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// discard removes a file. After a failure the next find retries.
func (c *classCache) discard(path string) {
	_ = os.Remove(path)
	soundCaches.Delete(path)
}

// use returns the flags that make a JVM use a file. The JVM ignores a file that does not fit.
func use(java Runtime, file string) []string {
	if java.Feature >= aheadOfTimeJava {
		return []string{"-XX:AOTCache=" + file}
	}
	return []string{"-XX:SharedArchiveFile=" + file}
}

// want schedules the creation of the class cache, once per host.
func (c *classCache) want() {
	h := c.host
	if !h.opts.MakeClassCache {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || c.attempted {
		return
	}
	c.attempted = true
	h.work.Go(func() {
		if sleep.For(h.ctx, h.opts.ClassCacheDelay) != nil {
			return
		}
		nice := h.opts.Nice
		if nice > 0 {
			nice += cacheNice
		}
		switch err := c.prepare(h.ctx, nice); {
		case h.ctx.Err() != nil:
		case err != nil:
			h.opts.Log.Warn("the class cache of the Java host could not be made: JVMs start without one", slog.String("folder", c.dir), slog.Any("error", err))
		}
	})
}

// prepare implements Host.PrepareClassCache, with additional niceness.
func (c *classCache) prepare(ctx context.Context, nice int) (err error) {
	h := c.host
	java, err := Find(ctx, h.opts.Home)
	if err != nil {
		return err
	}
	key := c.key(java)
	if key == "" || c.find(key, h.opts.Log) != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cacheTime)
	defer cancel()
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := c.checkFolder(); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(c.dir, "lock"))
	locked, err := lock.TryLock()
	if err != nil || !locked {
		return err
	}
	defer lock.Close()
	if c.find(key, h.opts.Log) != "" {
		return nil
	}
	begin := time.Now()
	work, err := scratch.Open(c.dir, "making-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, work.Remove()) }()
	path, err := c.make(ctx, java, folder{work}, nice)
	if err != nil {
		return err
	}
	name, err := c.keep(path, key)
	if err != nil {
		return err
	}
	h.opts.Log.Info("the class cache of the Java host is made", slog.String("file", name), slog.Duration("took", time.Since(begin)))
	return nil
}

// make creates a file in a folder and returns its path.
func (c *classCache) make(ctx context.Context, java Runtime, work folder, nice int) (path string, err error) {
	data, err := Jar(HostJar)
	if err != nil {
		return "", err
	}
	jar, err := work.writeHost(data)
	if err != nil {
		return "", err
	}
	path = filepath.Join(work.Path, "host"+cacheSuffix)
	// The JVM runs in the folder.
	ahead := java.Feature >= aheadOfTimeJava
	train := []string{"-XX:ArchiveClassesAtExit=" + filepath.Base(path)}
	if ahead {
		train = []string{"-XX:AOTMode=record", "-XX:AOTConfiguration=training"}
	}
	if err := c.train(ctx, launch{java: java, jar: jar, flags: append(train, "-Xlog:disable", "-Dapp.plugin.host.exit=true"), nice: nice}, work); err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	if ahead {
		if err := c.runJava(ctx, java, work, nice, "-XX:AOTMode=create", "-XX:AOTConfiguration=training", "-XX:AOTCache="+filepath.Base(path), "-cp", filepath.Base(jar)); err != nil {
			return "", fmt.Errorf("assemble: %w", err)
		}
	}
	insist := "-Xshare:on"
	if ahead {
		insist = "-XX:AOTMode=on"
	}
	flags := append(use(java, path), insist, "-cp", filepath.Base(jar), "-version")
	if err := c.runJava(ctx, java, work, nice, flags...); err != nil {
		return "", fmt.Errorf("a JVM does not accept it: %w", err)
	}
	return path, nil
}

// train runs a JVM that loads, starts, calls and unloads the warm-up plugin, and waits until it has
// recorded the classes.
func (c *classCache) train(ctx context.Context, how launch, work folder) error {
	h := c.host
	how.dir, how.log, how.unwatched = work.Path, slog.New(slog.DiscardHandler), true
	s, err := h.openSession(ctx, nil, how)
	if err != nil {
		return err
	}
	s.stopping.Store(true)
	err = runWarmup(ctx, s, func(jar []byte) (string, error) { return work.write("warm-up.jar", jar) }, func() bool { return false })
	if err == nil {
		var a answer
		if a, err = s.request(ctx, kindStop, nil, nil); err == nil {
			a.free()
		}
	}
	if err != nil {
		s.kill()
		<-s.over
		return err
	}
	s.end(ctx)
	<-s.over
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !s.cmd.ProcessState.Success() {
		return s.why
	}
	return nil
}

// runJava runs the Java program in a folder, with the flags of the host followed by the given ones.
func (c *classCache) runJava(ctx context.Context, java Runtime, work folder, nice int, flags ...string) error {
	h := c.host
	cmd := exec.CommandContext(ctx, java.Java(), append(h.flags(work.Path), flags...)...)
	cmd.Dir, cmd.SysProcAttr, cmd.WaitDelay = work.Path, ownGroup(), drainTime
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return err
	}
	if nice > 0 {
		_ = yieldMore(cmd.Process.Pid, nice) // It only takes seconds.
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, causeIn(strings.Split(head(strings.TrimSpace(output.String()), maxLine), "\n")))
	}
	return nil
}

// keep flushes a file to disk, renames it to the name with its checksum, and prunes old files.
func (c *classCache) keep(path, key string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	sum, err := checksum(f)
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	name := filepath.Join(c.dir, key+"-"+sum+cacheSuffix)
	if err := os.Rename(path, name); err != nil {
		return "", err
	}
	c.prune(name)
	return name, nil
}

// prune removes the least recently used files, but not the new one.
func (c *classCache) prune(name string) {
	found, _ := filepath.Glob(filepath.Join(escapeGlob(c.dir), "*-*"+cacheSuffix))
	dates := make(map[string]time.Time)
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && path != name {
			dates[path] = info.ModTime()
		}
	}
	found = slices.DeleteFunc(found, func(path string) bool { return dates[path].IsZero() })
	slices.SortFunc(found, func(a, b string) int { return dates[b].Compare(dates[a]) })
	for _, path := range found[min(maxCaches-1, len(found)):] {
		_ = os.Remove(path)
	}
}
