// SPDX-License-Identifier: Apache-2.0

package java

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A process is a JVM that runs plugins.
type process struct {
	cmd *exec.Cmd
	// r and w are the server's ends of the pipes.
	r, w *os.File
	log  *slog.Logger
	dir  string
	// heapFile is the path of the heap dump that the JVM writes when the heap is full.
	heapFile string
	// debugPort is the port for debuggers; 0 means none.
	debugPort int

	drains  sync.WaitGroup
	outputs []*os.File
	// done is closed when the process has ended; err is set then.
	done chan struct{}
	err  error

	// crashed are the classes on the stack of the thread that crashed the JVM, the innermost first.
	// It is set when the process has ended.
	crashed []string
	// reports is the folder of crash reports; "" means that none are kept.
	reports string

	mu   sync.Mutex
	tail []string
}

// maxTail is the number of a JVM's last output lines that are kept to explain its end.
const maxTail = 12

// mainClass is the main class of the host's jar.
const mainClass = "im.app.plugin.host.Main"

// flags returns the flags that measured best for a small JVM with many virtual threads: fast
// start, little memory. The program in the JVM handles an OutOfMemoryError: the JVM's own
// flags would also exit for an oversized array. The JVM runs in dir: values that a comma or a
// colon terminates have paths relative to it.
func (h *Host) flags(dir string) []string {
	list := []string{
		"-XX:+IgnoreUnrecognizedVMOptions",
		"-XX:+UseSerialGC", "-Xmx" + strconv.FormatInt(h.opts.MaxHeap, 10), "-Xss512k",
		"-XX:MaxMetaspaceSize=128m", "-XX:ReservedCodeCacheSize=48m",
		"-Xrs", "-XX:ErrorFile=" + filepath.Join(dir, "hs_err_%p.log"), "-XX:-CreateCoredumpOnCrash", "-XX:-UsePerfData",
		"-Xlog:disable", "-Xlog:all=warning:stderr",
		"-Dfile.encoding=UTF-8", "-Djava.awt.headless=true",
	}
	if h.opts.Exit != nil {
		list = append(list, "-Dapp.plugin.host.orderly=true")
	}
	if h.opts.RefuseExit {
		list = append(list, "-Dapp.plugin.host.refuse-exit=true")
	}
	if d := h.opts.Debug; d.Port != 0 {
		suspend := "n"
		if d.Suspend {
			suspend = "y"
		}
		list = append(list, fmt.Sprintf("-agentlib:jdwp=transport=dt_socket,server=y,suspend=%s,address=localhost:%d", suspend, d.Port))
	}
	if maxHeap(h.opts.MaxHeap, h.opts.Flags) >= 2*firstHeap {
		list = append(list, "-Xms"+strconv.Itoa(firstHeap), "-XX:NewSize="+strconv.Itoa(firstNew))
	}
	return append(list, h.opts.Flags...)
}

// firstHeap is the initial heap of a JVM, of which firstNew is for new objects. They are not
// set for a heap with a low maximum, because the JVM would print a warning.
const (
	firstHeap = 12 << 20
	firstNew  = 8 << 20
)

// maxHeap returns the maximum heap in bytes with the operator's flags; 0 means unknown.
func maxHeap(most int64, flags []string) int64 {
	for _, flag := range flags {
		text, ok := strings.CutPrefix(flag, "-Xmx")
		if !ok {
			text, ok = strings.CutPrefix(flag, "-XX:MaxHeapSize=")
		}
		if strings.HasPrefix(flag, "-XX:MaxRAM") {
			return 0
		}
		if !ok || text == "" {
			continue
		}
		unit := int64(1)
		if i := strings.IndexByte("kmgt", text[len(text)-1]|0x20); i >= 0 {
			unit, text = 1<<(10*(i+1)), text[:len(text)-1]
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			most = n * unit
		}
	}
	return most
}

// dumps numbers the heap dump files, one for each JVM.
var dumps atomic.Int64

// A launch defines how to start a JVM.
type launch struct {
	java Runtime
	// dir is the working folder of the JVM, which contains the jar.
	dir, jar string
	// flags are additional flags, nice is the additional niceness.
	flags []string
	nice  int
	// log receives the output of the JVM.
	log *slog.Logger
	// unwatched prevents an unresponsive JVM from being killed.
	unwatched bool
}

// startProcess starts a JVM.
func (h *Host) startProcess(l launch) (_ *process, err error) {
	dir := l.dir
	p := &process{log: l.log, dir: dir, debugPort: h.opts.Debug.Port, reports: h.opts.CrashReports, done: make(chan struct{})}
	var opened []*os.File
	defer func() {
		if err != nil {
			for _, f := range opened {
				f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			opened = append(opened, r, w)
		}
		return r, w
	}
	theirR, ourW := pipe()
	ourR, theirW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err != nil {
		return nil, fmt.Errorf("start the Java host: %w", err)
	}
	p.r, p.w, p.outputs = ourR, ourW, []*os.File{outR, errR}
	p.heapFile = filepath.Join(dir, fmt.Sprintf("heap_%d.hprof", dumps.Add(1)))
	p.cmd = exec.Command(l.java.Java(), slices.Concat(h.flags(dir), l.flags, []string{"-Dapp.plugin.host.heap-dump=" + p.heapFile, "-Dapp.plugin.host.folder=" + dir, "-cp", filepath.Base(l.jar), mainClass})...)
	p.cmd.Dir = dir
	p.cmd.ExtraFiles = []*os.File{theirR, theirW}
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	// The server handles the terminal's signals, and shuts the JVM down gracefully.
	p.cmd.SysProcAttr = ownGroup()
	if h.opts.Debug.Port != 0 {
		// A JVM paused by a debugger does not notice the closed pipe of a killed server.
		dieWithServer(p.cmd.SysProcAttr)
	}
	if err = p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the Java host: %w", err)
	}
	if l.nice > 0 {
		if err := yieldMore(p.cmd.Process.Pid, l.nice); err != nil {
			p.log.Warn("the Java host runs with the niceness of the server", slog.Any("error", err))
		}
	}
	for _, f := range []*os.File{theirR, theirW, outW, errW} {
		f.Close()
	}
	for i, name := range []string{"stdout", "stderr"} {
		p.drains.Go(func() { p.drain(name, p.outputs[i]) })
	}
	go p.wait()
	return p, nil
}

// drainTime limits reading an ended JVM's output, which child processes may hold open.
const drainTime = 2 * time.Second

func (p *process) wait() {
	awaitExit(p.cmd.Process.Pid)
	killGroup(p.cmd.Process.Pid) // Child processes of plugins end with the JVM.
	removeSocket(p.cmd.Process.Pid)
	err := p.cmd.Wait()
	for _, f := range p.outputs {
		_ = f.SetReadDeadline(time.Now().Add(drainTime))
	}
	p.drains.Wait()
	for _, f := range p.outputs {
		f.Close()
	}
	p.err = p.explain(err)
	close(p.done)
}

// maxLine is the maximum length of a JVM's output line in bytes; longer ones are split.
const maxLine = 16 << 10

// drain logs the JVM's own output. The output of plugins comes in frames.
func (p *process) drain(stream string, f *os.File) {
	r := bufio.NewReaderSize(f, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			p.log.Info("the Java host wrote", slog.String("stream", stream), slog.String("line", text))
			p.mu.Lock()
			if p.tail = append(p.tail, text); len(p.tail) > maxTail {
				p.tail = p.tail[1:]
			}
			p.mu.Unlock()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// explain returns an error that says why the JVM ended. It wraps the status of the process.
func (p *process) explain(end error) error {
	if end == nil {
		end = errors.New("exit status 0")
	}
	if cause := p.crash(); cause != "" {
		return fmt.Errorf("the Java host crashed (%w): %s", end, cause)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.tail {
		if strings.Contains(line, "OutOfMemoryError") {
			return fmt.Errorf("the Java host ran out of memory (%w): %s", end, line)
		}
	}
	if p.debugPort != 0 && slices.ContainsFunc(p.tail, func(line string) bool { return strings.Contains(line, "transport error 202") }) {
		return fmt.Errorf("the Java host cannot listen for debuggers on port %d of localhost (%w), most likely because another program does: change app.plugin.java.debug.port", p.debugPort, end)
	}
	if cause := causeIn(p.tail); cause != "" {
		return fmt.Errorf("the Java host ended (%w): %s", end, cause)
	}
	return fmt.Errorf("the Java host ended (%w)", end)
}

// wasKilled reports whether a JVM that did not start was killed by an operator, or by the kernel
// because memory was short. If the server kills it after a time-out, the error is the time-out.
func wasKilled(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// causeIn returns the cause of a JVM's end from its last lines: the first error, or else the
// last line that is not a warning.
func causeIn(tail []string) string {
	const general = "Error occurred during initialization" // The next line says which.
	cause := ""
	for i, line := range tail {
		switch {
		case strings.HasPrefix(line, general) && i+1 < len(tail):
			return line + ": " + tail[i+1]
		case strings.Contains(line, "[warning]"), strings.HasPrefix(line, "OpenJDK 64-Bit Server VM warning"):
			continue
		case strings.HasPrefix(line, "Error"), strings.HasPrefix(line, "ERROR"), strings.HasPrefix(line, "Exception in"), strings.HasPrefix(line, "Unrecognized"):
			return line
		}
		cause = line
	}
	if cause == "" && len(tail) > 0 {
		cause = tail[len(tail)-1]
	}
	return cause
}

func head(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// kill kills the JVM and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // It may have ended already.
	<-p.done
}

// end waits until the JVM exits, and kills it if ctx ends first.
func (p *process) end(ctx context.Context) {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
	}
}
