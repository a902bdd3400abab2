// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/google/pprof/profile"

	"example.org/app/internal/apierr"
)

// A ProfileKind is a kind of Go profile that a recording contains in addition to events.
type ProfileKind string

// The kinds. CPU, Mutex and Block cover the recording; Heap and Goroutine are snapshots at its end,
// or of now.
const (
	CPU       ProfileKind = "cpu"
	Heap      ProfileKind = "heap"
	Mutex     ProfileKind = "mutex"
	Block     ProfileKind = "block"
	Goroutine ProfileKind = "goroutine"
)

// ProfileKinds are all kinds.
var ProfileKinds = []ProfileKind{CPU, Heap, Mutex, Block, Goroutine}

// needs returns the event type that must be enabled for a profile, or nil.
func (k ProfileKind) needs() *eventType {
	switch k {
	case CPU:
		return typeExecutionSample
	case Mutex:
		return typeContended
	case Block:
		return typeBlocked
	default:
		return nil
	}
}

// cumulative reports whether the runtime counts since the start of the process, so that earlier
// counts must be subtracted.
func (k ProfileKind) cumulative() bool { return k == Mutex || k == Block }

// fileName is the file of a profile of a recording that has stopped.
func (k ProfileKind) fileName() string { return string(k) + ".pprof" }

// lookUp returns a profile of the runtime as it is now.
func lookUp(k ProfileKind) (*profile.Profile, error) {
	var b bytes.Buffer
	if err := pprof.Lookup(string(k)).WriteTo(&b, 0); err != nil {
		return nil, fmt.Errorf("write the %s profile: %w", k, err)
	}
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("parse the %s profile: %w", k, err)
	}
	return p, nil
}

// rememberProfiles stores the counts of cumulative profiles before the recording.
func (rec *recording) rememberProfiles() (err error) {
	rec.before = map[ProfileKind]*profile.Profile{}
	for _, k := range ProfileKinds {
		if k.cumulative() && rec.wants(k) {
			p, lookUpErr := lookUp(k)
			err = errors.Join(err, lookUpErr)
			if p != nil {
				p.Scale(-1)
				rec.before[k] = p
			}
		}
	}
	return err
}

// wants reports whether the settings of a recording include a profile.
func (rec *recording) wants(k ProfileKind) bool {
	t := k.needs()
	return t == nil || rec.settings[t.Name].enabled
}

// profileNow returns a profile of a running recording, other than that of the processors.
func (rec *recording) profileNow(k ProfileKind) (*profile.Profile, error) {
	p, err := lookUp(k)
	if err != nil || rec.before[k] == nil {
		return p, err
	}
	if p, err = profile.Merge([]*profile.Profile{p, rec.before[k]}); err != nil {
		return nil, fmt.Errorf("subtract the %s profile at the start of the recording: %w", k, err)
	}
	p.TimeNanos, p.DurationNanos = rec.start.UnixNano(), 0
	return p, nil
}

// keepProfiles writes the profiles of a stopping recording, as far as there is space.
func (rec *recording) keepProfiles(room func() int64) (err error) {
	for _, k := range ProfileKinds {
		if k == CPU || !rec.wants(k) {
			continue
		}
		p, nowErr := rec.profileNow(k)
		if nowErr == nil {
			nowErr = rec.writeBeside(k.fileName(), p.Write, room())
		}
		err = errors.Join(err, nowErr)
	}
	rec.before = nil
	return err
}

// Profile returns a profile of a recording in the format of pprof, up to now if it is running. The
// caller must close the result.
func (r *Recorder) Profile(id int64, kind ProfileKind) (*Content, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, err := r.started(id)
	if err != nil {
		return nil, err
	}
	if kind == CPU {
		r.upToNow(rec)
		p, err := rec.cpuProfile()
		if err != nil {
			return nil, storageError(err)
		}
		if p == nil {
			return nil, notKept(rec, "the cpu profile", "nothing was sampled, or jdk.ExecutionSample is not enabled")
		}
		return profileContent(p)
	}
	switch t := kind.needs(); {
	case rec.state != Running:
		content, err := rec.openBeside(kind.fileName())
		if errors.Is(err, os.ErrNotExist) {
			return nil, notKept(rec, "the "+string(kind)+" profile", "its event was not enabled, or the server ended before it was written")
		}
		if err != nil {
			return nil, storageError(err)
		}
		return content, nil
	case !rec.wants(kind):
		return nil, notKept(rec, "the "+string(kind)+" profile", t.Name+" is not enabled")
	}
	p, err := rec.profileNow(kind)
	if err != nil {
		return nil, err
	}
	return profileContent(p)
}

func profileContent(p *profile.Profile) (*Content, error) {
	data, err := encodeProfile(p)
	if err != nil {
		return nil, err
	}
	return memoryContent(data), nil
}

// notKept returns the error for a representation that a recording does not have.
func notKept(rec *recording, what, why string) error {
	return apierr.New(apierr.ResourceNotFound, "the flight recording %d does not have %s: %s", rec.id, what, why)
}

func encodeProfile(p *profile.Profile) ([]byte, error) {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, fmt.Errorf("encode a profile: %w", err)
	}
	return b.Bytes(), nil
}

// mergeProfiles merges profiles; it returns nil if there are none.
func mergeProfiles(list []*profile.Profile) (*profile.Profile, error) {
	switch len(list) {
	case 0:
		return nil, nil
	case 1:
		return list[0], nil
	}
	p, err := profile.Merge(list)
	if err != nil {
		return nil, fmt.Errorf("merge %d CPU profiles: %w", len(list), err)
	}
	return p, nil
}

// Beside each segment is a file of the CPU profiles of its chunks: for each of them its length,
// four bytes, and a profile.
const cpuLength = 4

// appendCPU writes the CPU profile of a chunk beside its segment. Partial writes are reverted.
func (f *files) appendCPU(s *segment, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	block := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	if err := appendFile(s.cpuPath(), s.cpu, block); err != nil {
		return err
	}
	s.cpu += int64(len(block))
	f.beside += int64(len(block))
	return nil
}

// maxMerged bounds how many profiles are in memory at once when they are merged.
const maxMerged = 64

// cpuProfile merges the CPU profiles of all segments; nil if there is none.
func (f *files) cpuProfile() (*profile.Profile, error) {
	var list []*profile.Profile
	for _, s := range f.segments {
		if s.cpu == 0 {
			continue
		}
		data, err := os.ReadFile(s.cpuPath())
		if err != nil {
			return nil, err
		}
		for len(data) >= cpuLength {
			n := int(binary.BigEndian.Uint32(data))
			if n > len(data)-cpuLength {
				break // A crash truncated it.
			}
			p, err := profile.ParseData(data[cpuLength : cpuLength+n])
			if err != nil {
				return nil, fmt.Errorf("parse a CPU profile: %w", err)
			}
			data = data[cpuLength+n:]
			if list = append(list, p); len(list) < maxMerged {
				continue
			}
			if p, err = mergeProfiles(list); err != nil {
				return nil, err
			}
			list = []*profile.Profile{p}
		}
	}
	return mergeProfiles(list)
}

// writeBeside writes a file beside the segments atomically. It fails if there is no space.
func (f *files) writeBeside(name string, write func(io.Writer) error, room int64) error {
	path := filepath.Join(f.dir, name)
	size, err := writeFile(path+".tmp", write, room)
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), removeIfThere(path+".tmp"))
	}
	f.beside += size
	return nil
}

// writeFile writes the output of write to a file, up to room bytes, and returns its size.
func writeFile(path string, write func(io.Writer) error, room int64) (size int64, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	w := &boundedWriter{file: file, room: room}
	err = write(w)
	return w.size, errors.Join(err, file.Close())
}

// boundedWriter fails when there is no more room.
type boundedWriter struct {
	file       *os.File
	size, room int64
}

func (w *boundedWriter) Write(b []byte) (int, error) {
	if w.size+int64(len(b)) > w.room {
		return 0, fmt.Errorf("it has more than %d bytes, for which there is room", w.room)
	}
	n, err := w.file.Write(b)
	w.size += int64(n)
	return n, err
}

// openBeside opens a file beside the segments. It stays readable after it is deleted.
func (f *files) openBeside(name string) (*Content, error) {
	file, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return nil, err
	}
	return fileContent(file)
}
