package state

import "fmt"

// SpecsKey is the top-level key that [Specs.Migrate] keeps the version of each
// spec under, by name. No spec may have a path there.
const SpecsKey = "__specs"

// MigrateFunc returns the value of a key in the shape of the version after the one
// it is in. It must depend on nothing but the value.
type MigrateFunc func(v Value) (Value, error)

// SpecVersionError reports state that was written by a version of a spec that is
// newer than the one at hand. It matches [ErrSpecVersion].
type SpecVersionError struct {
	Name   string // of the spec
	Stored int64  // version in the document
	Known  int    // version of the spec at hand
}

func (e *SpecVersionError) Error() string {
	return fmt.Sprintf("%v: state %q is at version %d, this program knows it up to version %d; upgrade the program",
		ErrSpecVersion, e.Name, e.Stored, e.Known)
}

// Is reports whether target is [ErrSpecVersion].
func (e *SpecVersionError) Is(target error) bool { return target == ErrSpecVersion }

// Migrate returns the patch that brings a document to the versions of the specs,
// and nil if it is there. State that was never migrated is at version 0. For every
// spec that has a greater version the patch takes its value, if there is one, and
// for a tool_call scoped spec that of every call, through one migration after the
// other, changes what they changed, and sets the version under [SpecsKey]. State
// and versions of specs that are not in the set are left alone.
//
// Commit the patch, sure to apply to doc, before anything is reduced or read: it
// belongs into the first change set of a run, after what [Specs.RunCleanup]
// deletes. Nothing else in this module migrates state.
//
// If a document has a version that is greater than that of its spec the error is
// a [*SpecVersionError]; if a migration is missing, one matching [ErrSpecVersion];
// if a version is no integer from 0 on, [ErrTypeMismatch]. The error of a
// migration is returned with the name of the spec and the versions. The document
// is then good for nothing this set of specs can do.
func (s *Specs) Migrate(doc Document) (Patch, error) {
	var p Patch
	for _, spec := range s.All() {
		ops, err := spec.migrate(doc)
		if err != nil {
			return nil, err
		}
		p = append(p, ops...)
	}
	if _, err := p.Apply(doc); err != nil {
		return nil, fmt.Errorf("migrate state: %w", err)
	}
	return p, nil
}

// migrate is [Specs.Migrate] for one spec.
func (s Spec) migrate(doc Document) (Patch, error) {
	at := At(SpecsKey, s.Name)
	stored, err := storedVersion(doc, at)
	switch {
	case err != nil:
		return nil, fmt.Errorf("migrate state %q: %w", s.Name, err)
	case stored > int64(s.Version):
		return nil, &SpecVersionError{Name: s.Name, Stored: stored, Known: s.Version}
	case stored == int64(s.Version):
		return nil, nil
	}
	var p Patch
	for _, path := range s.places(doc) {
		v, ok := doc.Get(path)
		if !ok {
			continue
		}
		next, err := s.migrateValue(v, int(stored))
		if err != nil {
			return nil, err
		}
		d := differ{hasher: newHasher(), base: path}
		d.value(nil, v, next)
		p = append(p, d.patch...)
	}
	return append(p, Set(at, Int(int64(s.Version)))), nil
}

// storedVersion returns the version kept at a path, which is 0 where there is none.
func storedVersion(doc Document, at Pointer) (int64, error) {
	v, ok := doc.Get(at)
	if !ok {
		return 0, nil
	}
	version, ok := v.Int64()
	if !ok || version < 0 {
		return 0, failf(ErrTypeMismatch, "%s is %s, not a version", at, brief(v.String()))
	}
	return version, nil
}

// places returns where a spec may have a value.
func (s Spec) places(doc Document) []Pointer {
	if s.Scope != ScopeToolCall {
		return []Pointer{s.Path}
	}
	var places []Pointer
	calls, _ := doc.Get(At(CallsKey))
	for id := range calls.Members() {
		places = append(places, At(CallsKey, id)+s.Path)
	}
	return places
}

// migrateValue takes a value from a version to that of the spec.
func (s Spec) migrateValue(v Value, from int) (Value, error) {
	for version := from; version < s.Version; version++ {
		step, ok := s.Migrations[version]
		if !ok {
			return v, failf(ErrSpecVersion, "state %q is at version %d, and its spec of version %d has no migration from %d to %d",
				s.Name, from, s.Version, version, version+1)
		}
		next, err := step(v)
		if err != nil {
			return v, fmt.Errorf("migrate state %q from version %d to %d: %w", s.Name, version, version+1, err)
		}
		v = next
	}
	return v, nil
}
