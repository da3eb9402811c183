package sqlite

import "sync/atomic"

// request is something to be done in a transaction. It is answered after the
// commit.
type request struct {
	// run does it. It is called again if the transaction it ran in could not
	// be committed because of another request. An error that matches no class
	// of the contract is taken for a fault of the engine.
	run    func(*txn) error
	tenant string // whose threads it is about
	bytes  int

	state atomic.Int32 // one of the following
	err   error        // the answer
	done  chan struct{}
}

const (
	queued int32 = iota
	running
	left // by its caller
)

// start claims the request, unless its caller left.
func (r *request) start() bool { return r.state.CompareAndSwap(queued, running) }

func (r *request) answered() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// answer lets the caller go on.
func (r *request) answer(err error) {
	r.err = err
	close(r.done)
}
