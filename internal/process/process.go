// Package process tells the owners of leases apart: it names the process that
// runs, and says of another owner whether its process is certainly dead, so
// that what it held can be taken over at once instead of after its lease.
package process

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/selvagehq/selvage"
)

// Self returns an owner that stands for this process. Each call answers
// another token, so that two owners in one process stay apart.
func Self(name string) selvage.Owner {
	return selvage.Owner{
		Name:    name,
		Host:    host(),
		PID:     os.Getpid(),
		Started: started(),
		Token:   rand.Text(),
	}
}

// Dead reports whether the process of o is certainly gone: it ran on this host
// in the host's current boot, and either no process has its id now, or one
// that started at another time, or it has ended and only waits to be reaped.
// Every doubt answers false: an owner of another host, one without a host, a
// process that may not be looked at.
func Dead(o selvage.Owner) bool {
	if o.PID <= 0 || o.Host == "" || o.Host != host() {
		return false
	}
	return gone(o.PID, o.Started)
}

// identity condenses what distinguishes this host into an opaque name, because
// some of it is not meant to be shown. It is "" if the boot is not known.
func identity(boot string, more ...string) string {
	boot = strings.TrimSpace(boot)
	if boot == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(boot + "\x00" + strings.Join(more, "\x00")))
	return hex.EncodeToString(sum[:16])
}
