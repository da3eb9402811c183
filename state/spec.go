package state

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// CallsKey is the top-level key that tool_call scoped state lives under, by call
// id. No spec may have a path there.
const CallsKey = "__calls"

// Scope says how long a key lives.
type Scope string

const (
	// ScopeThread is never cleaned. It is what an empty Scope means.
	ScopeThread Scope = "thread"
	// ScopeRun is deleted when the next run is prepared.
	ScopeRun Scope = "run"
	// ScopeToolCall lives under the id of a tool call, and goes when that ends.
	ScopeToolCall Scope = "tool_call"
)

// Spec declares a key of the state.
type Spec struct {
	// Name identifies the spec in its set.
	Name string `json:"name"`
	// Path is where the key is: in the document, or for ScopeToolCall in the
	// part of the call. Empty means the top-level key with the spec's name.
	Path Pointer `json:"path"`
	// Scope is how long the key lives. Empty means ScopeThread.
	Scope Scope `json:"scope"`
	// Reducer folds a delta into the value. Empty means ReduceReplace.
	Reducer Reducer `json:"reducer,omitempty"`
	// Lattice is what ReduceJoin joins by; with another reducer there must be none.
	// With a Lattice an empty Reducer means ReduceJoin.
	Lattice Lattice `json:"lattice,omitempty"`
	// Func is the reducer if none of the named ones will do. Reducer must then
	// be empty.
	Func ReduceFunc `json:"-"`
	// Version counts the shapes the value has had, from 0. [Specs.Migrate] brings a
	// value of an earlier version to this one.
	Version int `json:"version"`
	// Migrations make a value of version n+1 of one of version n, which is their
	// key. Those from versions that no document has any more may be missing.
	Migrations map[int]MigrateFunc `json:"-"`
}

// withDefaults fills in what empty fields mean.
func (s Spec) withDefaults() Spec {
	if s.Path == "" {
		s.Path = At(s.Name)
	}
	if s.Scope == "" {
		s.Scope = ScopeThread
	}
	if s.Reducer == "" && s.Lattice != "" {
		s.Reducer = ReduceJoin
	}
	if s.Reducer == "" && s.Func == nil {
		s.Reducer = ReduceReplace
	}
	return s
}

// check reports what is wrong with a spec that has its defaults.
func (s Spec) check() error {
	switch {
	case s.Name == "":
		return failf(ErrSpec, "a spec has no name")
	case !utf8.ValidString(s.Name):
		return failf(ErrSpec, "%q is not valid UTF-8", s.Name)
	case s.Scope != ScopeThread && s.Scope != ScopeRun && s.Scope != ScopeToolCall:
		return failf(ErrSpec, "%s: unknown scope %q", s.Name, string(s.Scope))
	case s.Func != nil && s.Reducer != "":
		return failf(ErrSpec, "%s: has both a Reducer and a Func", s.Name)
	case s.Func == nil && !s.Reducer.known():
		return failf(ErrSpec, "%s: unknown reducer %q", s.Name, string(s.Reducer))
	case (s.Lattice != "") != (s.Reducer == ReduceJoin):
		return failf(ErrSpec, "%s: reducer %q with lattice %q: a lattice needs %s, and %[4]s a lattice", s.Name, string(s.Reducer), string(s.Lattice), ReduceJoin)
	case s.Lattice != "" && !s.Lattice.known():
		return failf(ErrSpec, "%s: unknown lattice %q", s.Name, string(s.Lattice))
	case s.Version < 0:
		return failf(ErrSpec, "%s: version %d is negative", s.Name, s.Version)
	}
	if _, err := ParsePointer(string(s.Path)); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSpec, s.Name, err)
	}
	for _, reserved := range reservedKeys {
		if At(reserved).Contains(s.Path) {
			return failf(ErrSpec, "%s: path %q is under the reserved key %s", s.Name, string(s.Path), reserved)
		}
	}
	return s.checkMigrations()
}

func (s Spec) checkMigrations() error {
	for from, step := range s.Migrations {
		if from < 0 || from >= s.Version {
			return failf(ErrSpec, "%s: migration from version %d, but the version is %d", s.Name, from, s.Version)
		}
		if step == nil {
			return failf(ErrSpec, "%s: migration from version %d is nil", s.Name, from)
		}
	}
	return nil
}

// place returns the path of the key for a call, which only ScopeToolCall has.
func (s Spec) place(callID string) (Pointer, error) {
	if s.Scope != ScopeToolCall {
		if callID != "" {
			return "", failf(ErrCallID, "%s is %s scoped, call id %q given", s.Name, s.Scope, callID)
		}
		return s.Path, nil
	}
	if callID == "" {
		return "", failf(ErrCallID, "%s is tool_call scoped, no call id given", s.Name)
	}
	if !utf8.ValidString(callID) {
		return "", failf(ErrCallID, "call id %q is not valid UTF-8", callID)
	}
	return At(CallsKey, callID) + s.Path, nil
}

// Specs is an immutable set of specs. A nil *Specs is an empty set.
type Specs struct {
	list   []Spec // by name
	byName map[string]Spec
}

// NewSpecs returns the set of the given specs. It returns an error matching
// [ErrSpec] if one is malformed, if two have the same name, or if paths are
// equal or nested. Paths of tool_call scoped specs are compared with each other
// only, as they are somewhere else.
func NewSpecs(specs ...Spec) (*Specs, error) {
	s := &Specs{byName: make(map[string]Spec, len(specs))}
	for _, spec := range specs {
		spec = spec.withDefaults()
		if err := spec.check(); err != nil {
			return nil, err
		}
		if _, ok := s.byName[spec.Name]; ok {
			return nil, failf(ErrSpec, "two specs are named %q", spec.Name)
		}
		for _, other := range s.list {
			if spec.meets(other) {
				return nil, failf(ErrSpec, "paths of %s (%q) and %s (%q) are equal or nested",
					other.Name, string(other.Path), spec.Name, string(spec.Path))
			}
		}
		s.byName[spec.Name] = spec
		s.list = append(s.list, spec)
	}
	slices.SortFunc(s.list, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// meets reports whether two specs would share a place.
func (s Spec) meets(other Spec) bool {
	return (s.Scope == ScopeToolCall) == (other.Scope == ScopeToolCall) &&
		(s.Path.Contains(other.Path) || other.Path.Contains(s.Path))
}

// Lookup returns the spec with the name, with its defaults filled in.
func (s *Specs) Lookup(name string) (Spec, bool) {
	if s == nil {
		return Spec{}, false
	}
	spec, ok := s.byName[name]
	return spec, ok
}

// All returns the specs in the order of their names.
func (s *Specs) All() []Spec {
	if s == nil {
		return nil
	}
	return slices.Clone(s.list)
}

// Path returns where the state of a spec is. A tool_call scoped spec needs the
// id of the call, any other must have none ([ErrCallID]). An unknown name is
// [ErrUnknownSpec].
func (s *Specs) Path(name, callID string) (Pointer, error) {
	spec, ok := s.Lookup(name)
	if !ok {
		return "", failf(ErrUnknownSpec, "%q", name)
	}
	return spec.place(callID)
}

// Reduce returns the patch that folds delta into the state of a spec, and nil if
// that changes nothing. The patch is sure to apply to doc. To fold several
// deltas, apply the patch of one before reducing the next. Call ids are as in
// [Specs.Path]; other errors are those of the [Reducer].
func (s *Specs) Reduce(doc Document, name, callID string, delta Value) (Patch, error) {
	spec, ok := s.Lookup(name)
	if !ok {
		return nil, failf(ErrUnknownSpec, "%q", name)
	}
	return spec.reduce(doc, callID, delta)
}

// RunCleanup returns the patch that prepares a document for the next run: one
// delete for each run-scoped path that is present in it. Give it the document as
// rebuilt from the whole log, so that nothing outlives a crash. It is nil when
// there is nothing to delete.
func (s *Specs) RunCleanup(doc Document) Patch {
	if s == nil {
		return nil
	}
	var p Patch
	for _, spec := range s.list {
		if _, ok := doc.Get(spec.Path); ok && spec.Scope == ScopeRun {
			p = append(p, Delete(spec.Path))
		}
	}
	return p
}

// CallCleanup returns the patch that deletes the whole state of a tool call,
// whatever is in it, and nil if it has none.
func (s *Specs) CallCleanup(doc Document, callID string) Patch {
	path := At(CallsKey, callID)
	if _, ok := doc.Get(path); !ok || !utf8.ValidString(callID) {
		return nil
	}
	return Patch{Delete(path)}
}
