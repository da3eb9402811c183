package sqlite

// moment is a place in the writer's work where a test may step in.
type moment int

const (
	afterBegin moment = iota
	beforeCommit
	afterCommit
)

// probe is what a test wants done at a moment. Nil is nothing.
type probe func(moment) error

func (p probe) at(m moment) error {
	if p == nil {
		return nil
	}
	return p(m)
}
