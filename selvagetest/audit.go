package selvagetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/sqlite"
)

// audit looks at what an agent has left behind.
func (r *trial) audit(ctx context.Context) (found Report, err error) {
	store, err := sqlite.Open(ctx, filepath.Join(r.dir, storeFile), sqlite.Options{})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	found.Kills = r.kills
	seen, err := (&Life{Dir: r.dir}).executions()
	if err != nil {
		return found, err
	}
	log, err := readLog(ctx, store, crashThread)
	if err != nil {
		found.Broken = append(found.Broken, err.Error())
		return found, nil
	}
	found.Unknown = log.unknown
	log.compare(seen, &found)
	found.Broken = append(found.Broken, log.faults...)
	for i := range r.script.Inputs {
		if s := log.runs[runID(i)]; s != selvage.RunDone {
			found.Broken = append(found.Broken, fmt.Sprintf("the run of input %d is %q at the end", i+1, s))
		}
		if n := log.said["say-"+string(runID(i))]; n != 1 {
			found.Lost = append(found.Lost, fmt.Sprintf("input %d is in the thread %d times", i+1, n))
		}
	}
	return found, r.effects(&found)
}

// effects holds the named effects against what the script wants.
func (r *trial) effects(found *Report) error {
	counts := make(map[string]int)
	lines, err := readLines(filepath.Join(r.dir, effectsFile))
	if err != nil {
		return err
	}
	for _, line := range lines {
		name, err := strconv.Unquote(line)
		if err != nil {
			return fmt.Errorf("effect %s: %w", line, err)
		}
		counts[name]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 1 {
			found.Repeated = append(found.Repeated, fmt.Sprintf("effect %q happened %d times", name, counts[name]))
		}
		if r.script.Want != nil && !slices.Contains(r.script.Want, name) {
			found.Broken = append(found.Broken, fmt.Sprintf("effect %q happened, and is not wanted", name))
		}
	}
	for _, name := range r.script.Want {
		if counts[name] == 0 {
			found.Lost = append(found.Lost, fmt.Sprintf("effect %q did not happen", name))
		}
	}
	return nil
}

// executions reads what the witness has written.
func (l *Life) executions() ([]execution, error) {
	lines, err := readLines(filepath.Join(l.Dir, callsFile))
	if err != nil {
		return nil, err
	}
	seen := make([]execution, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &seen[i]); err != nil {
			return nil, fmt.Errorf("execution %d: %w", i+1, err)
		}
	}
	return seen, nil
}

// readLines reads a file that need not exist.
func readLines(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []string
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, selvage.MaxSetBytes)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	return lines, s.Err()
}

// log is what a thread says of its runs and calls.
type log struct {
	said    map[string]int  // messages by id
	results map[string]bool // calls that have a result, and whether it is a success
	decided map[string]bool // calls whose result somebody decided
	calls   map[string]selvage.Call
	runs    map[selvage.RunID]selvage.RunStatus
	unknown int // calls of unknown outcome that somebody was asked about
	faults  []string
}

// readLog reads a whole log, and holds it against its own hashes and the head.
func readLog(ctx context.Context, store selvage.Store, id selvage.ThreadID) (*log, error) {
	l := &log{said: make(map[string]int), results: make(map[string]bool), decided: make(map[string]bool),
		calls: make(map[string]selvage.Call), runs: make(map[selvage.RunID]selvage.RunStatus)}
	var prev selvage.Hash
	var doc state.Document
	next, most := selvage.Version(1), selvage.MaxPage
	query := selvage.ChangeQuery{Limit: &most}
	for {
		page, err := store.Changes(ctx, id, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			c := &page.Items[i]
			if c.Version != next {
				return nil, fmt.Errorf("version %d follows version %d", c.Version, next-1)
			}
			if err := c.Verify(prev); err != nil {
				return nil, err
			}
			if doc, err = c.ApplyState(doc); err != nil {
				return nil, fmt.Errorf("version %d: %w", c.Version, err)
			}
			if err := l.take(c); err != nil {
				return nil, err
			}
			prev, next = c.Hash, c.Version+1
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	head, err := store.Load(ctx, id, selvage.LoadOptions{})
	if err != nil {
		return nil, err
	}
	if head.Thread.Version != next-1 || head.Hash != prev || !head.State.Equal(doc) {
		return nil, fmt.Errorf("the head is version %d with state %s, the log leads to %d with %s", head.Thread.Version, head.State, next-1, doc)
	}
	return l, nil
}

// take takes in one change.
func (l *log) take(c *selvage.Change) error {
	set, err := c.Set()
	if err != nil {
		return err
	}
	added, err := c.AddedMessages()
	if err != nil {
		return err
	}
	for i := range added {
		m := &added[i]
		l.said[m.ID]++
		if m.Role != selvage.RoleTool {
			continue
		}
		if _, twice := l.results[m.ToolCallID]; twice {
			l.faults = append(l.faults, fmt.Sprintf("call %s has two results", m.ToolCallID))
		}
		l.results[m.ToolCallID] = string(m.Metadata["failed"]) != "true"
	}
	for i := range set.Calls {
		u := &set.Calls[i]
		var was *selvage.Call
		if known, ok := l.calls[u.CallID]; ok {
			was = &known
		}
		now, err := u.Apply(was, c.ThreadID, set.RunID, c.At)
		if err != nil {
			return err
		}
		l.calls[u.CallID] = *now
		if asks, err := now.Asks(); err == nil && asks != nil && asks.Unknown && u.Suspension != nil {
			l.unknown++
		}
		if d, err := now.Decided(); err == nil && d != nil && (d.Result != nil || d.Action != selvage.DecisionResume) {
			l.decided[u.CallID] = true
		}
	}
	for i := range set.Runs {
		l.runs[set.Runs[i].ID] = set.Runs[i].Status
	}
	return nil
}

// compare holds what the thread says against what was seen.
func (l *log) compare(seen []execution, found *Report) {
	ran := make(map[string]int)
	for _, e := range seen {
		if e.Result == nil {
			continue
		}
		ran[e.Key]++
		if e.Effect == selvage.EffectOnce && ran[e.Key] == 2 {
			found.Repeated = append(found.Repeated, fmt.Sprintf("call %s of %s, whose effect is once, ran again", e.Key, e.Tool))
		}
		if _, has := l.results[e.Key]; !has && ran[e.Key] == 1 {
			found.Lost = append(found.Lost, fmt.Sprintf("call %s of %s ran, and the thread has no result of it", e.Key, e.Tool))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.results)) {
		if l.results[id] && ran[id] == 0 && !l.decided[id] {
			found.Lost = append(found.Lost, fmt.Sprintf("the thread has a result of call %s, which never ran", id))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.calls)) {
		if c := l.calls[id]; !c.Status.Terminal() {
			found.Broken = append(found.Broken, fmt.Sprintf("call %s of %s is %s at the end", id, c.Name, c.Status))
		}
	}
}
