package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
)

// process is a store as one process sees it, which can die at any append: from
// then on nothing of what it does reaches the store, and its leases are free, as
// those of a dead process are.
type process struct {
	selvage.Store

	mu     sync.Mutex
	fuse   int  // appends until it dies; 0 is never; guarded by mu
	after  bool // it dies after that append has happened, and not before; guarded by mu
	silent int  // appends until one whose answer is lost; 0 is never; guarded by mu
	dead   bool // guarded by mu
	leases map[selvage.ThreadID]selvage.Lease
}

var errDied = fmt.Errorf("the process is dead: %w", selvage.ErrClosed)

func newProcess(store selvage.Store) *process {
	return &process{Store: store, leases: make(map[selvage.ThreadID]selvage.Lease)}
}

// Capability implements the search of [selvage.As].
func (p *process) Capability(target any) bool {
	if t, ok := target.(*selvage.Leaser); ok {
		*t = p
		return true
	}
	return false
}

// Append dies, or loses its answer, when it is time to.
func (p *process) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	before, after, silent := p.count()
	if before {
		return selvage.Receipt{}, errDied
	}
	receipt, err := p.Store.Append(ctx, id, set, pre)
	switch {
	case after:
		return selvage.Receipt{}, errDied
	case silent && err == nil:
		return selvage.Receipt{}, fmt.Errorf("no answer: %w", selvage.ErrUnknownOutcome)
	}
	return receipt, err
}

// count counts an append and says what becomes of it.
func (p *process) count() (before, after, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return true, false, false
	}
	if p.silent > 0 {
		p.silent--
		silent = p.silent == 0
	}
	if p.fuse > 0 {
		p.fuse--
		if p.fuse == 0 {
			p.dead = true
			return !p.after, p.after, false
		}
	}
	return false, false, silent
}

func (p *process) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errDied
	}
	return nil
}

func (p *process) Load(ctx context.Context, id selvage.ThreadID, opts selvage.LoadOptions) (selvage.Head, error) {
	if err := p.alive(); err != nil {
		return selvage.Head{}, err
	}
	return p.Store.Load(ctx, id, opts)
}

// Acquire implements [selvage.Leaser].
func (p *process) Acquire(ctx context.Context, id selvage.ThreadID, owner selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
	leaser, ok := selvage.As[selvage.Leaser](p.Store)
	if !ok {
		return selvage.Lease{}, errors.New("the store hands out no leases")
	}
	if err := p.alive(); err != nil {
		return selvage.Lease{}, err
	}
	l, err := leaser.Acquire(ctx, id, owner, ttl)
	if err == nil {
		p.mu.Lock()
		p.leases[id] = l
		p.mu.Unlock()
	}
	return l, err
}

// Renew implements [selvage.Leaser].
func (p *process) Renew(ctx context.Context, l selvage.Lease, ttl time.Duration) (selvage.Lease, error) {
	leaser, _ := selvage.As[selvage.Leaser](p.Store)
	if err := p.alive(); err != nil {
		return selvage.Lease{}, err
	}
	return leaser.Renew(ctx, l, ttl)
}

// Release implements [selvage.Leaser].
func (p *process) Release(ctx context.Context, l selvage.Lease) error {
	leaser, _ := selvage.As[selvage.Leaser](p.Store)
	if err := p.alive(); err != nil {
		return err
	}
	return leaser.Release(ctx, l)
}

// bury frees what a dead process held, and reports whether it is dead.
func (p *process) bury(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead {
		return false
	}
	leaser, _ := selvage.As[selvage.Leaser](p.Store)
	for _, l := range p.leases {
		_ = leaser.Release(ctx, l) // what is no longer held need not be
	}
	return true
}
