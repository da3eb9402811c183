package sqlite

import "github.com/selvagehq/selvage"

// Capability offers what the store can do beyond [selvage.Store]; see
// [selvage.As].
func (s *Store) Capability(target any) bool {
	if s.tenant != "" && forOperators(target) {
		return false
	}
	switch t := target.(type) {
	case *selvage.Blobs:
		*t = blobs{s}
	case *selvage.Outbox:
		*t = outbox{s}
	case *selvage.Leaser:
		*t = s
	case *selvage.Eraser:
		*t = eraser{s}
	case *selvage.Forker:
		*t = forker{s}
	case *selvage.Compactor:
		*t = compactor{s}
	case *selvage.Backup:
		*t = backup{s}
	case *selvage.Repairer:
		*t = s
	case *selvage.Importer:
		*t = s
	case *selvage.Tenancy:
		*t = s
	case *selvage.Checker:
		*t = s
	case *selvage.Inspector:
		*t = s
	case *selvage.Watcher:
		*t = watcher{s}
	default:
		return s.keeper.Capability(target)
	}
	return true
}

// forOperators reports whether a capability reaches beyond one tenant.
func forOperators(target any) bool {
	switch target.(type) {
	case *selvage.Tenancy, *selvage.Backup, *selvage.Repairer, *selvage.Inspector, *selvage.Checker:
		return true
	default:
		return false
	}
}
