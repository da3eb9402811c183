package state

// Key is typed access to the state of a [Spec]. It is a small immutable value;
// declare one per key and use it everywhere.
type Key[T any] struct {
	spec   Spec
	callID string
}

// NewKey returns the key that a spec declares. Nothing is checked here: give
// [Key.Spec] to [NewSpecs], which does.
func NewKey[T any](spec Spec) Key[T] { return Key[T]{spec: spec.withDefaults()} }

// For returns the key for a tool call. Only the key of a tool_call scoped spec
// may be, and must be, tied to a call; else its methods return an error matching
// [ErrCallID].
func (k Key[T]) For(callID string) Key[T] {
	k.callID = callID
	return k
}

// Spec returns the spec of the key, with its defaults filled in.
func (k Key[T]) Spec() Spec { return k.spec }

// Get returns the value of the key in a document. It reports false, and the zero
// T, when there is none, and an error when it does not decode into a T.
func (k Key[T]) Get(doc Document) (T, bool, error) {
	var t, zero T
	path, err := k.spec.place(k.callID)
	if err != nil {
		return zero, false, err
	}
	v, ok := doc.Get(path)
	if !ok {
		return zero, false, nil
	}
	if err := v.Decode(&t); err != nil {
		return zero, false, err
	}
	return t, true, nil
}

// Set returns the op that stores t, whatever the reducer of the key.
func (k Key[T]) Set(t T) (Op, error) {
	path, err := k.spec.place(k.callID)
	if err != nil {
		return Op{}, err
	}
	v, err := ValueOf(t)
	if err != nil {
		return Op{}, err
	}
	return Set(path, v), nil
}

// Update returns the patch that folds delta into the value of the key through
// its reducer, as [Specs.Reduce] does. It is nil when nothing changes.
func (k Key[T]) Update(doc Document, delta T) (Patch, error) {
	if err := k.spec.check(); err != nil {
		return nil, err
	}
	v, err := ValueOf(delta)
	if err != nil {
		return nil, err
	}
	return k.spec.reduce(doc, k.callID, v)
}
