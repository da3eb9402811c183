package selvage

import (
	"context"
	"fmt"
	"time"
)

// Owner identifies who holds a lease, well enough for another process on the
// same host to see whether it still lives.
type Owner struct {
	Name    string `json:"name"`              // what people are shown
	Host    string `json:"host,omitempty"`    // identity of the machine's current boot
	PID     int    `json:"pid,omitempty"`     // process id on Host
	Started int64  `json:"started,omitempty"` // when the process started, in the kernel's ticks; tells a reused PID apart
	Token   string `json:"token,omitempty"`   // tells two owners of one process apart
}

// String describes the owner for messages.
func (o Owner) String() string {
	if o.PID == 0 {
		return o.Name
	}
	return fmt.Sprintf("%s (pid %d)", o.Name, o.PID)
}

// Lease is the right to run a thread, until Until. Its Epoch fences appends:
// every new holder raises it.
type Lease struct {
	ThreadID ThreadID  `json:"thread_id"`
	Owner    Owner     `json:"owner"`
	Epoch    int64     `json:"epoch"`
	Token    string    `json:"token,omitempty"` // proves to Renew and Release who asks; never shown to others
	Until    time.Time `json:"until"`
	// Took is the owner whose lease this one ended, if it was not released.
	Took *Owner `json:"took,omitempty"`
}

// Fence returns the fence of appends made under the lease.
func (l *Lease) Fence() *Fence { return &Fence{Epoch: l.Epoch} }

// Leaser hands out the leases of threads. A run holds its thread's lease, so
// that two processes never pay the model for the same turn. Neither claims nor
// renewals are versions. Every store is one.
type Leaser interface {
	// Acquire takes the lease of a thread, which need not exist yet, for ttl
	// and raises its epoch, which fences every earlier holder. A lease that
	// was released, has run out, or whose owner was a process of this host
	// that is dead is taken at once; otherwise the error is a [BusyError].
	// Acquiring a deleted thread matches [ErrGone].
	Acquire(ctx context.Context, id ThreadID, owner Owner, ttl time.Duration) (Lease, error)

	// Renew extends the lease to ttl from now, also if it has run out and
	// nobody took it. The error matches [ErrFenced] if somebody did.
	Renew(ctx context.Context, l Lease, ttl time.Duration) (Lease, error)

	// Release gives the lease back. Releasing what is no longer held is not
	// an error.
	Release(ctx context.Context, l Lease) error
}
