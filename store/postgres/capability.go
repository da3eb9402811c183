package postgres

import "github.com/selvagehq/selvage"

// Capability offers what the store can do beyond [selvage.Store]; see
// [selvage.As].
func (s *Store) Capability(target any) bool {
	switch t := target.(type) {
	case *selvage.Leaser:
		*t = s
	case *selvage.Inspector:
		*t = s
	default:
		return false
	}
	return true
}
