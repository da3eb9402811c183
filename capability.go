package selvage

import "context"

// As finds a capability of store, an interface such as [Leaser], through the
// layers of decorators around it. A layer that has a method
//
//	Capability(target any) bool
//
// is asked first: it sets *target, a pointer to the interface, and reports
// whether it did, as errors.As does. A layer without one offers what it
// implements. A layer that has Unwrap() Store passes the question on; one that
// changes what the store means must not have it.
func As[T any](store Store) (T, bool) {
	for {
		var found T
		if asker, ok := store.(interface{ Capability(target any) bool }); ok {
			if asker.Capability(&found) {
				return found, true
			}
		} else if found, ok := store.(T); ok {
			return found, true
		}
		layer, ok := store.(interface{ Unwrap() Store })
		if !ok {
			return found, false
		}
		store = layer.Unwrap()
	}
}

// Checker is a store that can look over the files or tables it keeps, apart
// from what they say. It writes nothing.
type Checker interface {
	// CheckIntegrity reads everything the engine keeps and returns an error
	// matching [ErrCorrupt] that tells what is damaged.
	CheckIntegrity(ctx context.Context) error
}
