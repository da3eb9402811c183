package state

import (
	"errors"
	"fmt"
)

// Classes of failure. Match them with [errors.Is]; the text that comes with
// them is for people and may change.
var (
	// ErrSyntax: the input is not one valid JSON value. Every [*SyntaxError]
	// matches it.
	ErrSyntax = errors.New("invalid JSON")
	// ErrTooDeep: a value is, or would become, nested deeper than [MaxDepth].
	ErrTooDeep = errors.New("nested too deep")
	// ErrPointer: a path is not an RFC 6901 pointer.
	ErrPointer = errors.New("invalid JSON pointer")
	// ErrUnknownOp: an op has a kind this version does not know.
	ErrUnknownOp = errors.New("unknown op")
	// ErrUnknownLattice: a join names a lattice this version does not know.
	ErrUnknownLattice = errors.New("unknown lattice")
	// ErrTypeMismatch: a value has the wrong type for what is asked of it.
	ErrTypeMismatch = errors.New("type mismatch")
	// ErrPathNotFound: an op needs a target that does not exist.
	ErrPathNotFound = errors.New("path not found")
	// ErrIndexOutOfRange: an array has no element, or no gap, at the index.
	ErrIndexOutOfRange = errors.New("index out of range")
	// ErrNotANumber: arithmetic or ordering on something that is not a number.
	ErrNotANumber = errors.New("not a number")
	// ErrOverflow: the result, or an operand, is outside what arithmetic can
	// represent without losing digits.
	ErrOverflow = errors.New("number overflow")
	// ErrTestFailed: a test of a JSON patch found another value.
	ErrTestFailed = errors.New("test failed")
	// ErrTooLarge: a JSON patch would copy too much.
	ErrTooLarge = errors.New("too large")
	// ErrSpec: a [Spec], or a set of them, is not acceptable.
	ErrSpec = errors.New("invalid state spec")
	// ErrUnknownSpec: no spec has the name.
	ErrUnknownSpec = errors.New("unknown state spec")
	// ErrSpecVersion: state is in a version that its spec cannot migrate from. Every
	// [*SpecVersionError] matches it.
	ErrSpecVersion = errors.New("unknown version of state")
	// ErrCallID: a call id is missing where the scope needs one, given where it
	// has none, or not valid UTF-8.
	ErrCallID = errors.New("wrong call id for scope")
	// ErrReserved: a change would touch what runs keep under keys of their own; see
	// [Op.Reserved].
	ErrReserved = errors.New("reserved key")
)

// OpError reports the op that made a patch fail, or the operation of a JSON
// patch. It matches the sentinel of its class.
type OpError struct {
	Index  int     // position of the op in its patch
	Kind   OpKind  // kind of the op; for a JSON patch add, remove, and so on
	Path   Pointer // path of the op
	Reason string  // what is wrong, naming the place where it was found
	Err    error   // class: one of the Err variables of this package
}

func (e *OpError) Error() string {
	return fmt.Sprintf("op %d (%s %q): %v: %s", e.Index, e.Kind, string(e.Path), e.Err, e.Reason)
}

// Unwrap returns the class of the failure.
func (e *OpError) Unwrap() error { return e.Err }

// SyntaxError reports where a text stops being acceptable JSON. It matches
// [ErrSyntax], and [ErrTooDeep] when depth is the reason.
type SyntaxError struct {
	Offset int    // bytes read before the failure
	Reason string // what is wrong there

	tooDeep bool
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrSyntax, e.Offset, e.Reason)
}

// Is reports whether target is the class of the error.
func (e *SyntaxError) Is(target error) bool {
	return target == ErrSyntax || e.tooDeep && target == ErrTooDeep
}

// failure is an error on its way to becoming an [OpError] or a reducer's error.
type failure struct {
	class  error
	reason string
}

func (f *failure) Error() string { return f.class.Error() + ": " + f.reason }
func (f *failure) Unwrap() error { return f.class }

func failf(class error, format string, args ...any) *failure {
	return &failure{class, fmt.Sprintf(format, args...)}
}
