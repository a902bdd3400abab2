// SPDX-License-Identifier: Apache-2.0

// Package recording makes flight recordings of the process: files in the format of the JDK Flight
// Recorder with events of the Go runtime, the machine and the parts of the server.
//
// Concurrent recordings share what is collected, as in a JVM: what one of them needs, all of them
// get. Package jfr writes the format; package event is the interface for parts of the server. This
// package does not know HTTP.
package recording

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/pprof/profile"

	"example.org/app/internal/apierr"
	"example.org/app/internal/recording/event"
)

// A State is the life-cycle state of a recording.
type State string

// The states, in the order of a life.
const (
	New     State = "NEW"
	Delayed State = "DELAYED"
	Running State = "RUNNING"
	Stopped State = "STOPPED"
	Closed  State = "CLOSED"
)

// A Spec defines a recording. Zero values mean no limits.
type Spec struct {
	Description string        `json:"description,omitempty"`
	Delay       time.Duration `json:"delay,omitempty"`
	Duration    time.Duration `json:"duration,omitempty"`
	MaxAge      time.Duration `json:"maxAge,omitempty"`
	MaxSize     int64         `json:"maxSize,omitempty"`
	// Settings are those of events, such as app.SqlTransaction#threshold, and the name of a
	// template.
	Settings map[string]string `json:"settings,omitempty"`
}

// Info describes a recording.
type Info struct {
	ID          int64
	State       State
	Description string
	// Start is zero before the start, Close before the end.
	Start, Close time.Time
}

// Limits are limits that can be changed at run time.
type Limits struct {
	// MaxTotalBytes is the maximum total size of all files.
	MaxTotalBytes int64
	// MaxRecordings is the maximum number of running and scheduled recordings.
	MaxRecordings int
	// Retention is how long a closed recording is kept: 0 removes it at once, a negative value
	// keeps it.
	Retention  time.Duration
	Continuous Continuous
}

// Options configure a Recorder.
type Options struct {
	// Folder is the folder of recordings. If another process uses it, one beside it is used.
	Folder string
	Limits func() Limits
	// Facts returns the settings in effect, without secrets.
	Facts  func() []Fact
	Logger *slog.Logger
}

// chunkTime is the duration of a chunk: a crash loses no more.
const chunkTime = 5 * time.Second

// tickTime is the sampling interval of the runtime and the machine.
const tickTime = time.Second

// A Recorder manages the recordings of a process. It is safe for concurrent use.
type Recorder struct {
	opts Options
	// lock reserves the folder for this process.
	lock *flock.Flock
	// wake makes Run check its work, full signals that the chunk is full.
	wake, full chan struct{}
	incidents  chan event.Incident

	// mu guards everything below. It is held during short writes, and while a CPU profile ends,
	// which takes up to a tenth of a second; events of the server's parts do not need it.
	mu         sync.Mutex
	recordings map[int64]*recording
	box        blackBox
	collector  *collector
	nextChunk  time.Time
	lastID     int64
	stopped    bool
	source     Source

	// joint makes accompany check its work; joined is true while the JVM records.
	joint  chan struct{}
	joined atomic.Bool
}

// recording is one recording with its files.
type recording struct {
	files
	id       int64
	spec     Spec
	settings settings
	state    State
	created  time.Time
	start    time.Time
	stop     time.Time
	close    time.Time
	// keep overrides the retention: the file is wanted.
	keep bool
	// dump is true for a copy of the black box.
	dump bool
	// before are the counts of cumulative profiles before the start, negated.
	before map[ProfileKind]*profile.Profile
}

// Open reads the recordings of earlier runs. Those that were running are now stopped, with all
// their complete chunks.
func Open(o Options) (*Recorder, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Facts == nil {
		o.Facts = func() []Fact { return nil }
	}
	lock, folder, err := lockFolder(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("open the flight recordings in %q: %w", o.Folder, err)
	}
	o.Folder = folder
	r := &Recorder{
		opts: o, lock: lock, joint: make(chan struct{}, 1), wake: make(chan struct{}, 1), full: make(chan struct{}, 1), incidents: make(chan event.Incident, maxIncidents),
		recordings: map[int64]*recording{}, box: blackBox{kept: map[event.Reason]time.Time{}},
	}
	if err := r.recover(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("open the flight recordings in %q: %w", o.Folder, err)
	}
	return r, nil
}

// Run starts, writes, stops and removes recordings at their times, until ctx ends. Then it stops
// running recordings, which are available after the next start.
func (r *Recorder) Run(ctx context.Context) error {
	defer event.Watch(r.report)()
	var joint sync.WaitGroup
	defer joint.Wait()
	joint.Go(func() { r.accompany(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.shutdown()
			return nil
		case <-timer.C:
		case <-r.wake:
		case i := <-r.incidents:
			_, _ = r.Keep(i) // It is logged.
		case <-r.full:
			r.mu.Lock()
			r.nextChunk = time.Time{}
			r.mu.Unlock()
		}
		timer.Reset(r.tick())
	}
}

// tick does what is due and returns when to continue.
func (r *Recorder) tick() time.Duration {
	if r.endIsDue() {
		r.takeJVM()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	wait := time.Minute
	r.tickBox(now)
	for _, rec := range r.sorted() {
		if rec.state == Delayed {
			if until := rec.created.Add(rec.spec.Delay).Sub(now); until > 0 {
				wait = min(wait, until)
			} else {
				_ = r.begin(rec, now) // It is logged, and the recording is stopped.
			}
		}
	}
	if r.collector != nil {
		r.collector.sample(now)
		now = time.Now()
		if !now.Before(r.nextChunk) {
			r.rotate(now)
		}
		wait = min(wait, tickTime)
	}
	for _, rec := range r.sorted() {
		switch {
		case rec.state == Running && rec.spec.Duration > 0:
			if until := rec.start.Add(rec.spec.Duration).Sub(now); until > 0 {
				wait = min(wait, until)
			} else {
				r.end(rec, now)
			}
		case rec.state == Closed && !rec.keep:
			keep := r.opts.Limits().Retention
			if keep < 0 {
				continue
			}
			if until := rec.close.Add(keep).Sub(now); until > 0 {
				wait = min(wait, until)
			} else {
				r.remove(rec)
			}
		}
	}
	return max(wait, time.Millisecond)
}

// endIsDue reports whether a recording is about to stop.
func (r *Recorder) endIsDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.running(), func(rec *recording) bool {
		return rec.spec.Duration > 0 && time.Since(rec.start) >= rec.spec.Duration
	})
}

// sorted returns the recordings by id.
func (r *Recorder) sorted() []*recording {
	list := slices.Collect(maps.Values(r.recordings))
	slices.SortFunc(list, func(a, b *recording) int { return int(a.id - b.id) })
	return list
}

func (r *Recorder) running() (list []*recording) {
	for _, rec := range r.sorted() {
		if rec.state == Running {
			list = append(list, rec)
		}
	}
	if r.box.rec != nil && r.box.rec.state == Running {
		list = append(list, r.box.rec)
	}
	return list
}

// Create creates a recording, which starts at once or after its delay, and returns its id.
func (r *Recorder) Create(spec Spec) (int64, error) {
	s, err := parseSettings(spec.Settings)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	limits := r.opts.Limits()
	active := 0
	for _, rec := range r.recordings {
		if rec.state == Running || rec.state == Delayed {
			active++
		}
	}
	switch used := r.used(); {
	case r.stopped:
		return 0, apierr.New(apierr.ServerUnavailable, "the server stops")
	case active >= limits.MaxRecordings:
		return 0, conflict("%d recordings run or wait for their start, which is as many as may: close one, or raise app.flight-recorder.max-recordings", active)
	case used >= limits.MaxTotalBytes:
		return 0, conflict("the recordings have %d bytes, and %d are allowed: delete some, or raise app.flight-recorder.max-total-bytes", used, limits.MaxTotalBytes)
	}
	rec := &recording{id: r.lastID + 1, spec: spec, settings: s, state: New, created: time.Now()}
	if err := rec.create(r.opts.Folder, strconv.FormatInt(rec.id, 10)); err != nil {
		return 0, storageError(err)
	}
	r.lastID = rec.id
	r.recordings[rec.id] = rec
	if spec.Delay > 0 {
		rec.state = Delayed
		err = rec.save(rec)
	} else {
		err = r.begin(rec, rec.created)
	}
	if err != nil {
		r.remove(rec)
		return 0, storageError(err)
	}
	r.Look()
	return rec.id, nil
}

// conflict returns the error for a recording above the limits.
func conflict(format string, args ...any) error {
	return &apierr.Error{Code: apierr.IllegalArgument, Status: 409, Reason: fmt.Sprintf(format, args...)}
}

// storageError returns the caller's error if files cannot be written.
func storageError(err error) error {
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		return e
	}
	return &apierr.Error{Code: apierr.ServerInternalError, Status: 507, Reason: "the recording cannot be written: " + reasonOf(err), Err: err}
}

// Look makes Run check its work and the limits again.
func (r *Recorder) Look() {
	select {
	case r.wake <- struct{}{}:
	default: // Run has been told.
	}
}

// begin starts a recording. What was collected before belongs to the others.
func (r *Recorder) begin(rec *recording, now time.Time) error {
	r.rotate(now)
	rec.state, rec.start = Running, now
	if err := rec.save(rec); err != nil {
		r.opts.Logger.Error("a flight recording cannot be started", "recording", rec.id, "error", err)
		rec.state, rec.stop = Stopped, now
		r.configure(now)
		return err
	}
	r.configure(now)
	if err := rec.rememberProfiles(); err != nil {
		r.opts.Logger.Warn("a flight recording has no profiles", "recording", rec.id, "error", err)
	}
	r.opts.Logger.Info("flight recording started", "recording", rec.id, "description", rec.spec.Description)
	return nil
}

// end stops a recording with what was collected up to now.
func (r *Recorder) end(rec *recording, now time.Time) {
	if r.collector != nil {
		r.collector.sample(now)
	}
	r.rotate(now)
	if rec.state != Running {
		return // Its files could not be written.
	}
	r.keep(rec)
	rec.state, rec.stop = Stopped, now
	r.saveOrLog(rec)
	r.configure(now)
	r.opts.Logger.Info("flight recording stopped", "recording", rec.id, "bytes", rec.size)
}

// keep writes the additional files of a recording. A recording is valid without them.
func (r *Recorder) keep(rec *recording) {
	room := func() int64 {
		left := r.opts.Limits().MaxTotalBytes - r.used()
		if r.recordings[rec.id] != rec && r.box.rec != rec {
			left -= rec.size + rec.beside // It is not counted yet.
		}
		return left
	}
	err := rec.keepProfiles(room)
	if rec.settings[executionTrace].enabled {
		err = errors.Join(err, rec.writeBeside(traceFile, r.collector.trace.write, room()))
	}
	if err != nil {
		r.opts.Logger.Warn("profiles of a flight recording cannot be kept", "recording", rec.id, "error", err)
	}
}

// configure configures the collector for the running recordings.
func (r *Recorder) configure(now time.Time) {
	var all []settings
	for _, rec := range r.running() {
		all = append(all, rec.settings)
	}
	switch {
	case len(all) == 0 && r.collector != nil:
		r.collector.stop(now)
		r.collector = nil
	case len(all) > 0 && r.collector == nil:
		r.collector = newCollector(r.opts.Logger, r.opts.Facts, merge(all), r.full, now)
		r.nextChunk = now.Add(chunkTime)
	case len(all) > 0:
		r.collector.configure(merge(all), now)
	}
	r.wakeJoint()
}

// rotate writes the collected data to the files of the running recordings.
func (r *Recorder) rotate(now time.Time) {
	if r.collector == nil {
		return
	}
	r.nextChunk = now.Add(chunkTime)
	data, cpu := r.collector.take(now)
	for _, rec := range r.running() {
		r.write(rec, int64(len(data)+len(cpu)), now, func() error { return rec.append(data, cpu, now, rec.spec) })
	}
}

// write adds so many bytes to a recording by put, within the limits. A recording that cannot be
// written is stopped.
func (r *Recorder) write(rec *recording, more int64, now time.Time, put func() error) {
	limit := r.opts.Limits().MaxTotalBytes
	for r.used()+more > limit && rec.dropFirst() {
		// The end of a recording is more valuable than its beginning.
		continue
	}
	var err error
	if used := r.used(); used+more > limit {
		err = fmt.Errorf("the recordings have %d bytes, and %d are allowed", used, limit)
	} else {
		err = put()
	}
	if err != nil {
		rec.state, rec.stop = Stopped, now
		r.opts.Logger.Error("a flight recording was stopped because it cannot be written", "recording", rec.id, "error", err)
		r.saveOrLog(rec)
		r.configure(now)
		return
	}
	rec.prune(now, rec.spec)
}

func (r *Recorder) saveOrLog(rec *recording) {
	if err := rec.save(rec); err != nil {
		r.opts.Logger.Error("the state of a flight recording cannot be saved", "recording", rec.id, "error", err)
	}
}

// used returns the total size of all recordings.
func (r *Recorder) used() (bytes int64) {
	for _, rec := range r.recordings {
		bytes += rec.size + rec.beside
	}
	if r.box.rec != nil {
		bytes += r.box.rec.size + r.box.rec.beside
	}
	return bytes
}

// List returns recordings by id; no ids means all.
func (r *Recorder) List(ids []int64) []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Info
	for _, rec := range r.sorted() {
		if len(ids) > 0 && !slices.Contains(ids, rec.id) {
			continue
		}
		info := Info{ID: rec.id, State: rec.state, Description: rec.spec.Description, Start: rec.start, Close: rec.stop}
		if rec.state == Closed {
			info.Close = rec.close
		}
		list = append(list, info)
	}
	return list
}

// Close closes running recordings; no ids means all. The retention applies. It returns how many
// exist and how many of them were running.
func (r *Recorder) Close(ids []int64) (matched, closed int) {
	r.takeJVM()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, rec := range r.sorted() {
		if len(ids) > 0 && !slices.Contains(ids, rec.id) {
			continue
		}
		matched++
		if rec.state != Running {
			continue
		}
		closed++
		r.end(rec, now)
		if r.opts.Limits().Retention == 0 {
			r.remove(rec)
		} else {
			r.markClosed(rec, now)
		}
	}
	r.Look()
	return matched, closed
}

func (r *Recorder) markClosed(rec *recording, now time.Time) {
	rec.state, rec.close = Closed, now
	r.saveOrLog(rec)
}

// Delete closes recordings and removes their files; no ids means all. Running downloads continue.
func (r *Recorder) Delete(ids []int64) (deleted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.sorted() {
		if len(ids) > 0 && !slices.Contains(ids, rec.id) {
			continue
		}
		deleted++
		if rec.state == Running {
			// The data since the last chunk is only needed by the others.
			r.rotate(time.Now())
			rec.state = Closed
			r.configure(time.Now())
		}
		r.remove(rec)
	}
	return deleted
}

// remove removes a recording and deletes its files.
func (r *Recorder) remove(rec *recording) {
	rec.state = Closed
	delete(r.recordings, rec.id)
	if err := rec.delete(); err != nil {
		r.opts.Logger.Error("the files of a flight recording cannot be deleted", "recording", rec.id, "error", err)
	}
}

// Open returns the content of a recording, up to now if it is running. If closing is set, the
// recording is closed first, and its file is kept until it is deleted. The caller must close the
// result.
func (r *Recorder) Open(id int64, closing bool) (*Content, error) {
	if list := r.List([]int64{id}); len(list) == 1 && list[0].State == Running {
		r.takeJVM()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, err := r.started(id)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if closing && rec.state == Running {
		r.end(rec, now)
	} else {
		r.upToNow(rec)
	}
	if closing && rec.state != Closed {
		rec.keep = true
		r.markClosed(rec, now)
	}
	return rec.content(now), nil
}

// started returns a recording that has started.
func (r *Recorder) started(id int64) (*recording, error) {
	rec := r.recordings[id]
	if rec == nil {
		return nil, notFound(id)
	}
	if rec.state == New || rec.state == Delayed {
		return nil, notStarted(id, rec.state)
	}
	return rec, nil
}

// upToNow completes the files of a running recording.
func (r *Recorder) upToNow(rec *recording) {
	if rec.state == Running {
		r.collector.sample(time.Now())
		r.rotate(time.Now())
	}
}

func notFound(id int64) error {
	return apierr.New(apierr.ResourceNotFound, "there is no flight recording %d", id)
}

func notStarted(id int64, state State) error {
	e := apierr.New(apierr.DumpJFRInIllegalStatus, "the flight recording %d has not started yet", id)
	e.Exception = fmt.Sprintf("the flight recording %d has the state %s", id, state)
	return e
}

// shutdown stops running recordings. The files stay.
func (r *Recorder) shutdown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.dropBox(time.Now())
	for _, rec := range r.running() {
		r.end(rec, time.Now())
	}
	r.lock.Close()
}
