package runner

import (
	"log/slog"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// ledger is the run's side of its thread's log: what is recorded there, as far
// as the run needs it, and what is still to be.
type ledger struct {
	store    selvage.Store
	thread   selvage.ThreadID
	fence    *selvage.Fence
	keep     int           // messages in the window
	patience time.Duration // bounds one checkpoint
	log      *slog.Logger

	version selvage.Version
	user    string                   // whom the thread belongs to
	base    state.Document           // recorded
	window  []selvage.Message        // the last recorded ones; may hold more than keep
	survey  survey                   // of the window
	calls   map[string]*selvage.Call // recorded calls that have not ended

	doc     state.Document // base with what is pending
	pending delta
	unsure  []attempt
	held    []Event // of the last checkpoint, not told yet
}

// delta is what a run has done since its last checkpoint. It leaves the
// ledger only when the store has confirmed it.
type delta struct {
	messages []selvage.Message
	patches  []selvage.StatePatch
	calls    []selvage.CallUpdate
	bytes    int // at least what they take as JSON

	changing []string // calls whose results are among messages and whose changes are among patches
}

// A delta is recorded early when it holds so much that a result more might not
// fit into one change.
const (
	largeBytes    = selvage.MaxSetBytes / 2
	largeMessages = selvage.MaxSetMessages / 2
)

func (d *delta) large() bool { return d.bytes > largeBytes || len(d.messages) > largeMessages }

// attempt is a set that was given up on without knowing whether it was
// recorded: what it held of the delta, from the front.
type attempt struct {
	changeID                 string
	messages, patches, calls int
}

func (d *delta) empty() bool {
	return len(d.messages) == 0 && len(d.patches) == 0 && len(d.calls) == 0
}

// ops returns all pending ops in order.
func (d *delta) ops() state.Patch {
	var ops state.Patch
	for _, p := range d.patches {
		ops = append(ops, p.Ops...)
	}
	return ops
}

// drop forgets what an attempt turned out to have recorded.
func (d *delta) drop(a attempt) {
	d.messages = d.messages[a.messages:]
	d.patches = d.patches[a.patches:]
	d.calls = d.calls[a.calls:]
}

// load takes the thread as it stands for what is recorded.
func (l *ledger) load(head *selvage.Head) {
	l.version, l.base, l.doc = head.Thread.Version, head.State, head.State
	l.window, l.survey, l.pending, l.unsure = head.Messages, survey{}, delta{}, nil
	l.user = head.Thread.UserID
	l.calls = make(map[string]*selvage.Call, len(head.OpenCalls))
	for i := range head.OpenCalls {
		l.calls[head.OpenCalls[i].ID] = &head.OpenCalls[i]
	}
}

// belong takes note of whom a change gives the thread to; u may be nil.
func (l *ledger) belong(u *selvage.ThreadUpdate) {
	if u != nil && u.UserID != nil {
		l.user = *u.UserID
	}
}

// say adds a message to what is to be recorded.
func (l *ledger) say(m selvage.Message) {
	l.pending.messages = append(l.pending.messages, m)
	l.pending.bytes += messageBytes(&m)
}

// journal adds a call update to what is to be recorded.
func (l *ledger) journal(u selvage.CallUpdate) { l.pending.calls = append(l.pending.calls, u) }

// patch changes the state, at first only in what is to be recorded.
func (l *ledger) patch(source string, ops state.Patch) error {
	if len(ops) == 0 {
		return nil
	}
	doc, err := ops.Apply(l.doc)
	if err != nil {
		return err
	}
	l.doc = doc
	l.pending.patches = append(l.pending.patches, selvage.StatePatch{Source: source, Ops: ops})
	for i := range ops {
		l.pending.bytes += frameBytes + len(ops[i].Value.AppendJSON(nil))
	}
	return nil
}

// journalled is a call as the journal has it in what is recorded or to be, or
// nil if it is not in there or has ended.
func (l *ledger) journalled(callID string) *selvage.Call {
	call := l.calls[callID]
	for i := range l.pending.calls {
		if u := &l.pending.calls[i]; u.CallID == callID {
			if next, err := u.Apply(call, l.thread, "", time.Time{}); err == nil {
				call = next
			}
		}
	}
	if call != nil && call.Status.Terminal() {
		return nil
	}
	return call
}

// status is where a journalled call stands, or "" if it is not journalled or
// has ended.
func (l *ledger) status(callID string) selvage.CallStatus {
	if call := l.journalled(callID); call != nil {
		return call.Status
	}
	return ""
}

// windowRoom is for how many messages more there is room in a window that grows.
const windowRoom = 16

// remember adds recorded messages to the window.
func (l *ledger) remember(messages []selvage.Message) {
	if room := cap(l.window) - len(l.window); room < len(messages) {
		// A run adds few messages to many: twice the room would mostly stay empty.
		l.window = append(make([]selvage.Message, 0, len(l.window)+len(messages)+windowRoom), l.window...)
	}
	l.window = append(l.window, messages...)
	if len(l.window) > 2*l.keep {
		from := cut(l.window, l.keep)
		if open := lastOpen(l.window); open >= 0 {
			from = min(from, open)
		}
		l.window = slices.Clone(l.window[from:])
	}
}

// note keeps account of journalled calls that are recorded.
func (l *ledger) note(set *selvage.ChangeSet, at time.Time) {
	for i := range set.Calls {
		u := &set.Calls[i]
		call, err := u.Apply(l.calls[u.CallID], l.thread, set.RunID, at)
		if err != nil || call.Status.Terminal() {
			delete(l.calls, u.CallID)
			continue
		}
		l.calls[u.CallID] = call
	}
}
