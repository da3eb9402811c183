package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// attempts bounds how often one append is judged anew because another process
// was faster. Writers of this process wait for each other and do not count.
const attempts = 200

// Append implements [selvage.Store].
func (s *Store) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	receipt, err := s.append(ctx, id, set, pre)
	if err != nil {
		return selvage.Receipt{}, fmt.Errorf("append to thread %q: %w", id, err)
	}
	return receipt, nil
}

func (s *Store) append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	request, err := commit.NewRequest(id, set, pre)
	leave, enterErr := s.enter(ctx)
	if enterErr != nil {
		return selvage.Receipt{}, enterErr
	}
	defer leave()
	if err != nil {
		return selvage.Receipt{}, err
	}
	a := &attempt{store: s, request: request, key: threadKey{s.tenant, id}, thread: packID(string(id))}
	pass, err := s.gates.enter(ctx, a.key)
	if err != nil {
		return selvage.Receipt{}, err
	}
	defer pass()
	return a.run(ctx)
}

// attempt is one append until it is answered.
type attempt struct {
	store   *Store
	request *commit.Request
	key     threadKey
	thread  []byte

	distrust bool           // what is remembered has been proven wrong
	unknown  error          // of a write that was sent and not answered
	sent     []selvage.Hash // what such writes would have made
	life     int64          // in which they were sent, see head.life
}

// errCold says that the answer is not in memory.
var errCold = errors.New("not in memory")

// run judges and writes until the database has answered.
func (a *attempt) run(ctx context.Context) (selvage.Receipt, error) {
	failures := 0
	for n := range attempts {
		if n > retries {
			if err := pause(ctx, n); err != nil {
				return selvage.Receipt{}, err
			}
		}
		receipt, err := a.try(ctx)
		switch {
		case err == nil:
			return receipt, nil
		case ours(err) != nil:
			return selvage.Receipt{}, err
		case ctx.Err() != nil:
			return selvage.Receipt{}, ctx.Err()
		case errors.Is(err, errAgain):
			continue
		}
		if failures++; failures > retries || !a.store.heal(err) {
			return selvage.Receipt{}, a.fault(ctx, err)
		}
	}
	if a.unknown != nil {
		return selvage.Receipt{}, a.fault(ctx, a.unknown)
	}
	return selvage.Receipt{}, fmt.Errorf("other writers were faster %d times: %w", attempts, selvage.ErrUnavailable)
}

// errAgain says that the thread was not as it was judged.
var errAgain = errors.New("judge again")

// pause waits a moment that is random, so that those who got in each other's
// way do not do so again, and grows with the number of attempts.
func pause(ctx context.Context, n int) error {
	t := time.NewTimer(rand.N(min(time.Duration(n)*100*time.Microsecond, 5*time.Millisecond)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fault is the error of an append that the database did not answer.
func (a *attempt) fault(ctx context.Context, err error) error {
	if a.unknown == nil {
		return fault(ctx, "append", err)
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return a.unanswered(describe(err))
}

// unanswered is the error of an append of which nobody can tell what became.
func (a *attempt) unanswered(why string) error {
	return fmt.Errorf("change set %q was sent and not answered; append it again to learn what became of it (%s): %w",
		a.request.Set.ID, why, selvage.ErrUnknownOutcome)
}

// lose notes that a write was sent and not answered.
func (a *attempt) lose(err error, w *write) {
	a.unknown = err
	a.sent, a.life = append(a.sent, w.plan.Change.Hash), w.next.life()
}

// try judges the request once and writes what comes of it.
func (a *attempt) try(ctx context.Context) (selvage.Receipt, error) {
	if u := a.request.Set.Thread; u != nil && u.ParentID != nil {
		return a.tryWithin(ctx, a.store.serialised)
	}
	if a.request.Set.Rewind != nil {
		return a.tryWithin(ctx, a.store.transaction)
	}
	h, plan := a.warm()
	if plan == nil {
		var err error
		if h, plan, err = a.glance(ctx); err != nil {
			return selvage.Receipt{}, err
		}
	}
	if plan == nil {
		var err error
		var receipt *selvage.Receipt
		if h, plan, receipt, err = a.cold(ctx); err != nil || receipt != nil {
			return valueOf(receipt), err
		}
	}
	return a.commit(ctx, a.store.pool, h, plan)
}

// warm judges by what is remembered. Whatever it would refuse, and whatever it
// cannot tell, is not for it to say: it then returns no plan.
func (a *attempt) warm() (*head, *commit.Plan) {
	if a.distrust {
		return nil, nil
	}
	h := a.store.heads.get(a.key)
	if h == nil {
		if !a.request.Pre.IsNew() {
			return nil, nil
		}
		h = newHead(a.key.tenant)
	}
	plan, err := a.request.Judge(&h.Head, hopeful{h}, a.store.now())
	if err != nil {
		return nil, nil
	}
	return h, plan
}

// glance judges by the head alone, as the database has it now, which is one
// round trip. Like warm it leaves to others what it would refuse, and what
// takes more than the head.
func (a *attempt) glance(ctx context.Context) (*head, *commit.Plan, error) {
	if a.distrust || a.unknown != nil || len(a.request.Set.Patches) > 0 {
		return nil, nil, nil
	}
	h, first, err := a.store.readHead(ctx, a.store.pool, a.key.id, a.request.Set.ID)
	if err != nil || first != 0 {
		return nil, nil, err
	}
	plan, err := a.request.Judge(&h.Head, hopeful{h}, a.store.now())
	if err != nil {
		return nil, nil, nil
	}
	return h, plan, nil
}

// cold judges by what the database says, all of it as of one moment. It
// returns a receipt instead of a plan if the change set was appended before.
func (a *attempt) cold(ctx context.Context) (h *head, plan *commit.Plan, receipt *selvage.Receipt, err error) {
	a.distrust = false
	a.store.heads.drop(a.key)
	err = pgx.BeginTxFunc(ctx, a.store.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		h, plan, receipt, err = a.judge(ctx, tx)
		return err
	})
	return h, plan, receipt, err
}

// judge reads the thread and judges the request.
func (a *attempt) judge(ctx context.Context, tx pgx.Tx) (*head, *commit.Plan, *selvage.Receipt, error) {
	h, first, err := a.store.readHead(ctx, tx, a.key.id, a.request.Set.ID)
	if err != nil {
		return nil, nil, nil, err
	}
	if first != 0 {
		receipt, err := a.replay(ctx, tx, first)
		return nil, nil, receipt, err
	}
	if a.unknown != nil && h.life() != a.life {
		// What was sent may have been written, and gone with the thread since.
		return nil, nil, nil, a.unanswered("the thread was deleted meanwhile")
	}
	l := &lookup{ctx: ctx, store: a.store, from: tx, thread: a.thread, head: h}
	plan, err := a.request.Judge(&h.Head, l, a.store.now())
	return h, plan, nil, err
}

// replay answers a change set that the log holds as a version.
func (a *attempt) replay(ctx context.Context, tx pgx.Tx, v int64) (*selvage.Receipt, error) {
	c, err := a.store.readChange(ctx, tx, a.key.id, v)
	if err != nil {
		return nil, err
	}
	receipt, err := a.request.Replay(&c)
	if err != nil {
		return nil, err
	}
	for _, hash := range a.sent {
		if hash == c.Hash {
			receipt.Replayed = false // it is what this call sent and got no answer to
		}
	}
	return &receipt, nil
}

// commit writes a plan if the thread is still as it was judged.
func (a *attempt) commit(ctx context.Context, q querier, h *head, plan *commit.Plan) (selvage.Receipt, error) {
	w, err := a.store.newWrite(h, plan, a.request)
	if err != nil {
		return selvage.Receipt{}, err
	}
	written, err := w.exec(ctx, q)
	switch {
	case err == nil && written:
		a.store.remember(a.key, w)
		return plan.Receipt, nil
	case err == nil:
		a.distrust = true
		return selvage.Receipt{}, errAgain
	}
	a.distrust = true
	a.store.heads.drop(a.key)
	switch judge(err) {
	case duplicate:
		return selvage.Receipt{}, errAgain
	case lost:
		a.lose(err, w)
	}
	return selvage.Receipt{}, err
}
