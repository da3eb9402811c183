package commit

import (
	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/process"
)

// OwnerDead reports whether the owner of a lease was a process of this host
// that is certainly gone, so that its lease may be taken before it runs out.
// Every doubt answers false: another host, no host, a process that may not be
// looked at. It asks the operating system, so it does not belong in a
// transaction that others wait for.
func OwnerDead(o selvage.Owner) bool { return process.Dead(o) }
