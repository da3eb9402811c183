package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage/internal/pgtest"
)

// course is how a size is measured.
type course struct {
	messages int
	threads  int // a round; 0: one thread for all rounds
	turns    int // on each
	heavy    int // turns of those whose turns grow dear with the thread
	warm     int // turns before, on another thread
}

// courseOf keeps the threads at about their size: on short ones few turns are
// taken, on many of them.
func courseOf(cfg config, messages int) course {
	c := course{messages: messages, turns: 30, heavy: 10, warm: 40}
	switch {
	case messages < 50:
		c.threads, c.turns, c.heavy = 20, 1, 1
	case messages < 500:
		c.threads, c.turns, c.heavy = 4, 5, 5
	case messages > 5000:
		c.heavy = 3
	}
	if cfg.quick {
		c.threads, c.turns, c.heavy, c.warm = min(c.threads, 2), 1, 1, 1
	}
	return c
}

// race lets all contestants take turns on threads of one size.
func race(ctx context.Context, cfg config, cluster *pgtest.Cluster, messages int, peer bool) (rows []result, err error) {
	c := courseOf(cfg, messages)
	var all []*contestant
	for _, k := range contestants(cfg, cluster, peer) {
		if strings.Contains(strings.ToLower(k.engine+", "+k.name), strings.ToLower(cfg.only)) {
			all = append(all, k)
		}
	}
	defer func() {
		for _, k := range all {
			err = errors.Join(err, k.end())
		}
	}()
	for _, k := range all {
		_, _ = fmt.Fprintf(cfg.log, "peers: %d messages, %s, %s\n", messages, k.engine, k.name)
		if err := k.prepare(ctx, cfg, c); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", k.engine, k.name, err)
		}
	}
	_, _ = fmt.Fprintf(cfg.log, "peers: %d messages, taking turns\n", messages)
	for round := range cfg.rounds {
		for _, k := range all {
			if err := k.round(ctx, c, round); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", k.engine, k.name, err)
			}
		}
	}
	for _, k := range all {
		r, err := k.finish(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", k.engine, k.name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// prepare makes every thread, takes turns on another one until the code is
// warm, and looks at what is stored then.
func (k *contestant) prepare(ctx context.Context, cfg config, c course) (err error) {
	if err := k.place.create(ctx); err != nil {
		return err
	}
	if k.durability, k.pid, err = k.keeper.open(ctx, k.place.address()); err != nil {
		return err
	}
	k.opened = true
	speaker := newSpeaker(1) // the same for each
	for round := range cfg.rounds {
		for i := range c.threads {
			if err := k.keeper.seed(ctx, c.thread(round, i), speaker.turns(c.messages/2)); err != nil {
				return err
			}
		}
	}
	once := map[string]int{"warm": 2}
	if c.threads == 0 {
		once[c.thread(0, 0)] = c.messages
	}
	for thread, messages := range once {
		if err := k.keeper.seed(ctx, thread, speaker.turns(messages/2)); err != nil {
			return err
		}
	}
	for range c.warm {
		if _, err := k.keeper.take(ctx, "warm", speaker.turn()); err != nil {
			return err
		}
	}
	k.before, err = k.place.stored(ctx)
	return err
}

// thread names the threads.
func (c course) thread(round, i int) string {
	if c.threads == 0 {
		return "thread"
	}
	return fmt.Sprintf("thread-%d-%d", round, i)
}

// round takes the turns of a round.
func (k *contestant) round(ctx context.Context, c course, round int) error {
	turns := c.turns
	if k.heavy {
		turns = c.heavy
	}
	before, err := k.place.written(ctx, k.pid)
	if err != nil {
		return err
	}
	speaker := newSpeaker(uint64(2 + round))
	for i := range max(c.threads, 1) {
		for range turns {
			took, err := k.keeper.take(ctx, c.thread(round, i), speaker.turn())
			if err != nil {
				return err
			}
			k.took = append(k.took, took)
			k.turns++
		}
	}
	after, err := k.place.written(ctx, k.pid)
	k.written += after - before
	if err != nil {
		return err
	}
	n, took, err := k.keeper.history(ctx, c.thread(round, 0))
	if err == nil && n < c.messages {
		err = fmt.Errorf("of %d messages %d are there", c.messages, n)
	}
	k.histories = append(k.histories, took)
	return err
}

// finish looks at what was stored.
func (k *contestant) finish(ctx context.Context, c course) (result, error) {
	after, err := k.place.stored(ctx)
	return k.result(c.messages, after), err
}

// end closes what is open and removes what was kept.
func (k *contestant) end() error {
	var err error
	if k.opened {
		err = k.keeper.close()
	}
	return errors.Join(err, k.place.remove())
}
