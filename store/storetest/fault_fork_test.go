package storetest

import (
	"context"
	"errors"

	"github.com/selvagehq/selvage"
)

type forkFunc func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error)

// onFork puts something around forks.
func onFork(wrap func(f *faulty, next forkFunc) forkFunc) func(*faulty) {
	return func(f *faulty) { f.fork = wrap(f, f.fork) }
}

func forkFaults() []fault {
	return []fault{
		{"forks the head whatever was asked for", onFork(forkHead), []string{"Fork/AtAnyVersion", "Fork/AfterRewinds", "Fork/InheritedIDsAreKnown", "Fork/OriginIsThere"}},
		{"copies messages as new ones", onFork(forkAsNew), []string{"Fork/TakesOverWhatWas", "Fork/MessagesAreKeptWhole", "Fork/ChainAndEvents", "Fork/ForkOfAFork"}},
		{"forgets what it was asked to say", onFork(forkWithoutThread), []string{"Fork/ThreadIsCopied", "Fork/IsRepeatable", "Fork/BadRequestsAreRefused"}},
		{"makes every fork anew", onFork(forkAnew), []string{"Fork/IsRepeatable", "Fork/OneWinner"}},
		{"forks over what is there", onFork(forkOver), []string{"Fork/TargetIsNew", "Fork/OneWinner"}},
		{"marks the origin", onFork(forkMarks), []string{"Fork/TakesOverWhatWas"}},
		{"lets anybody say that it is a fork", lenient("reason", func(s *selvage.ChangeSet) { s.Reason = "" }), []string{"Fork/OnlyForksAreForked"}},
		{"takes runs along", onFork(forkWithRun), []string{"Fork/FactsStayBehind"}},
		{"ends forks with their origin", forkEnds, []string{"Fork/OutlivesItsOrigin"}},
		{"rewinds origin and fork together", forkTogether, []string{"Fork/IsIndependent"}},
	}
}

func forkHead(_ *faulty, next forkFunc) forkFunc {
	return func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		req.At = 0
		return next(ctx, req)
	}
}

// forkAsNew makes an ordinary thread of the origin's messages.
func forkAsNew(f *faulty, _ forkFunc) forkFunc {
	return func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		h, err := f.sound.Load(ctx, req.From, selvage.LoadOptions{})
		if err != nil {
			return selvage.Receipt{}, err
		}
		return f.sound.Append(ctx, req.To, selvage.ChangeSet{ID: req.ID, Messages: h.Messages, Snapshot: &h.State}, selvage.New())
	}
}

func forkWithoutThread(_ *faulty, next forkFunc) forkFunc {
	return func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		req.Thread = nil
		return next(ctx, req)
	}
}

func forkAnew(_ *faulty, next forkFunc) forkFunc {
	return func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		r, err := next(ctx, req)
		r.Replayed = false
		return r, err
	}
}

func forkOver(f *faulty, next forkFunc) forkFunc {
	return func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		r, err := next(ctx, req)
		if errors.Is(err, selvage.ErrAlreadyExists) {
			return f.sound.Append(ctx, req.To, selvage.ChangeSet{}, selvage.Any())
		}
		return r, err
	}
}

func forkMarks(f *faulty, next forkFunc) forkFunc {
	return func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		r, err := next(ctx, req)
		if err == nil {
			_, err = f.sound.Append(ctx, req.From, selvage.ChangeSet{}, selvage.Any())
		}
		return r, err
	}
}

func forkWithRun(f *faulty, next forkFunc) forkFunc {
	return func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		r, err := next(ctx, req)
		if err == nil {
			_, err = f.sound.Append(ctx, req.To, runSet(status("run-taken-"+selvage.RunID(req.To), selvage.RunRunning)), selvage.Any())
		}
		return r, err
	}
}

// forkEnds deletes the forks of a thread with it.
func forkEnds(f *faulty) {
	forks := make(map[selvage.ThreadID]selvage.ThreadID)
	next := f.fork
	f.fork = func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		forks[req.From] = req.To
		return next(ctx, req)
	}
	f.delete = func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
		if fork := forks[id]; fork != "" {
			_ = f.sound.Delete(ctx, fork, selvage.DeleteReject)
		}
		return f.sound.Delete(ctx, id, strategy)
	}
}

// forkTogether appends to the fork what is appended to its origin.
func forkTogether(f *faulty) {
	forks := make(map[selvage.ThreadID]selvage.ThreadID)
	next := f.fork
	f.fork = func(ctx context.Context, req selvage.ForkRequest) (selvage.Receipt, error) {
		forks[req.From] = req.To
		return next(ctx, req)
	}
	f.append = func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if fork := forks[id]; fork != "" {
			_, _ = f.sound.Append(ctx, fork, set, selvage.Any())
		}
		return f.sound.Append(ctx, id, set, pre)
	}
}
