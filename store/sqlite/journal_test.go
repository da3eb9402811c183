package sqlite_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const sector = 512 // bytes a disk writes together or not at all

// journal is what happened to the files of a database: each write, truncation,
// creation and removal, and what was forced to the disk when. From it follows
// what a disk may hold if the power goes at any moment: what was forced, and
// any part of the rest.
type journal struct {
	root string // the directory that was there before

	mu     sync.Mutex // guards what follows
	events []event
	nodes  map[string]int // the file a name stands for now
	made   int            // how many files were ever made
}

// event is one thing that happened. Files are numbered, because a name may
// stand for one after the other.
type event struct {
	kind eventKind
	node int
	name string // of created, removed, dirSynced
	off  int64  // of written; the new size of truncated
	data []byte // of written
	note any    // of noted: what the workload knows
}

type eventKind int

const (
	written eventKind = iota
	truncated
	synced
	created
	removed
	dirSynced
	lost // a sync that failed: what waited is taken for written, and never is
	noted
	looked // read; never in a journal
)

func newJournal(root string) *journal {
	return &journal{root: root, nodes: make(map[string]int)}
}

func (j *journal) add(e event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.append(e)
}

func (j *journal) append(e event) { j.events = append(j.events, e) }

// note records what the workload knows at this point.
func (j *journal) note(what any) { j.add(event{kind: noted, note: what}) }

// open returns the file a name stands for, which is made if there is none.
func (j *journal) open(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.find(name)
}

func (j *journal) find(name string) int {
	node, known := j.nodes[name]
	if !known {
		j.made++
		node = j.made
		j.nodes[name] = node
		j.append(event{kind: created, node: node, name: name})
	}
	return node
}

func (j *journal) remove(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, known := j.nodes[name]; known {
		delete(j.nodes, name)
		j.append(event{kind: removed, name: name})
	}
}

// syncDir records that the entries of a directory, or a file, were forced to
// the disk. What the store made in it without the engine is found first.
func (j *journal) syncDir(name string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if node, file := j.nodes[name]; file {
		j.append(event{kind: synced, node: node})
		return nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".db") {
			j.find(filepath.Join(name, e.Name()))
		}
	}
	j.append(event{kind: dirSynced, name: name})
	return nil
}

// len is how many events there are.
func (j *journal) len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.events)
}

// fate decides what of the writes that were not forced reaches the disk.
type fate int

const (
	dropped  fate = iota // nothing
	kept                 // everything, as when only the process died
	inOrder              // the first of them, the last of these torn
	chosen               // any of them
	tornAny              // any sectors of any of them
	numFates             // the number of them
)

func (f fate) String() string {
	return [...]string{"dropped", "kept", "kept up to a torn one", "kept by chance", "torn by chance"}[f]
}

// image is what is on a disk: files by name.
type image map[string][]byte

// crash returns what the disk holds if the power goes after the first n events.
func (j *journal) crash(n int, f fate, random *rand.Rand) image {
	j.mu.Lock()
	defer j.mu.Unlock()
	d := newDisk()
	for _, e := range j.events[:n] {
		d.apply(e)
	}
	return d.crash(j.root, f, random)
}

// platter is a disk that is being written: what is safe, and what waits.
type platter struct {
	files   map[int][]byte
	names   map[string]int
	dirs    map[string]bool // whose entries have been forced, so that what is in them is found
	waiting []event
}

func newDisk() *platter {
	return &platter{files: make(map[int][]byte), names: make(map[string]int), dirs: make(map[string]bool)}
}

func (d *platter) apply(e event) {
	switch e.kind {
	case written, truncated, created, removed:
		d.waiting = append(d.waiting, e)
	case synced:
		d.force(func(w event) bool { return w.node == e.node && (w.kind == written || w.kind == truncated) })
	case lost:
		d.waiting = slices.DeleteFunc(d.waiting, func(w event) bool { return w.node == e.node && (w.kind == written || w.kind == truncated) })
	case dirSynced:
		d.dirs[e.name] = true
		d.force(func(w event) bool { return (w.kind == created || w.kind == removed) && filepath.Dir(w.name) == e.name })
	}
}

// force makes some of what waits safe.
func (d *platter) force(which func(event) bool) {
	rest := d.waiting[:0]
	for _, w := range d.waiting {
		if which(w) {
			d.perform(w)
		} else {
			rest = append(rest, w)
		}
	}
	d.waiting = rest
}

func (d *platter) perform(e event) {
	switch e.kind {
	case written:
		d.files[e.node] = overwrite(d.files[e.node], e.off, e.data)
	case truncated:
		content := d.files[e.node]
		if int64(len(content)) > e.off {
			content = content[:e.off]
		}
		d.files[e.node] = append(content, make([]byte, e.off-int64(len(content)))...)
	case created:
		d.names[e.name] = e.node
	case removed:
		delete(d.names, e.name)
	}
}

func overwrite(content []byte, off int64, data []byte) []byte {
	if end := off + int64(len(data)); end > int64(len(content)) {
		content = append(content, make([]byte, end-int64(len(content)))...)
	}
	copy(content[off:], data)
	return content
}

// crash decides about what waits, and returns what is found afterwards.
func (d *platter) crash(root string, f fate, random *rand.Rand) image {
	waiting, keepDirs := d.waiting, f == kept || f > inOrder && random.IntN(2) == 0
	if f == inOrder && len(waiting) > 0 {
		waiting = waiting[:random.IntN(len(waiting)+1)]
	}
	for i, w := range waiting {
		switch {
		case f == dropped:
		case f == kept, f == inOrder && i < len(waiting)-1, f == chosen && random.IntN(2) == 0:
			d.perform(w)
		case f == chosen:
		case w.kind == written:
			d.tear(w, random)
		case random.IntN(2) == 0:
			d.perform(w)
		}
	}
	found := make(image)
	for name, node := range d.names {
		if keepDirs || d.reachable(root, filepath.Dir(name)) {
			found[name] = bytes.Clone(d.files[node])
		}
	}
	return found
}

// tear performs some sectors of a write.
func (d *platter) tear(w event, random *rand.Rand) {
	for from := int64(0); from < int64(len(w.data)); {
		to := min(from+sector-(w.off+from)%sector, int64(len(w.data)))
		if random.IntN(2) == 0 {
			d.perform(event{kind: written, node: w.node, off: w.off + from, data: w.data[from:to]})
		}
		from = to
	}
}

// reachable reports whether a directory is found from the root.
func (d *platter) reachable(root, dir string) bool {
	for ; dir != root; dir = filepath.Dir(dir) {
		if !d.dirs[filepath.Dir(dir)] {
			return false
		}
	}
	return true
}

// write puts the image into an empty directory and returns where a file of it
// is now.
func (m image) write(root, to, name string) (string, error) {
	moved := func(name string) string { return filepath.Join(to, strings.TrimPrefix(name, root)) }
	for _, file := range slices.Sorted(maps.Keys(m)) {
		if err := os.MkdirAll(filepath.Dir(moved(file)), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(moved(file), m[file], 0o600); err != nil {
			return "", err
		}
	}
	return moved(name), nil
}
