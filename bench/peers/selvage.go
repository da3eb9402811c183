package main

import (
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/postgres"
	"github.com/selvagehq/selvage/store/sqlite"
)

// opener opens a store; forgetful, it keeps nothing of its threads in memory.
type opener func(ctx context.Context, address string, forgetful bool) (selvage.Store, string, error)

func openSQLite(durability sqlite.Durability) opener {
	return func(ctx context.Context, address string, forgetful bool) (selvage.Store, string, error) {
		s, err := sqlite.Open(ctx, address, sqlite.Options{Durability: durability, CacheBytes: cacheBytes(forgetful)})
		if err != nil {
			return nil, "", err
		}
		return s, "WAL, synchronous " + map[sqlite.Durability]string{sqlite.Durable: "FULL", sqlite.CrashSafe: "NORMAL"}[durability], nil
	}
}

func openPostgres(ctx context.Context, address string, forgetful bool) (selvage.Store, string, error) {
	s, err := postgres.Open(ctx, address, postgres.Options{CacheBytes: cacheBytes(forgetful)})
	if err != nil {
		return nil, "", err
	}
	return s, "synchronous_commit on", nil
}

func cacheBytes(forgetful bool) int {
	if forgetful {
		return -1
	}
	return 0
}

// selvageSide keeps conversations in a store of ours: by itself, one change
// set a turn, or by the loop that a run goes through.
type selvageSide struct {
	opener opener
	loop   bool

	store  selvage.Store
	loader selvage.Store // as of a process that has never seen the thread
	runner *runner.Runner
	answer string // of the model
	last   map[string]selvage.Version
}

func (s *selvageSide) open(ctx context.Context, address string) (durability string, pid int, err error) {
	if s.store, durability, err = s.opener(ctx, address, false); err != nil {
		return "", 0, err
	}
	if s.loader, _, err = s.opener(ctx, address, true); err != nil {
		return "", 0, err
	}
	if s.last == nil {
		s.last = make(map[string]selvage.Version)
	}
	s.runner, err = runner.New(runner.Options{Store: s.store, Model: s})
	return durability, os.Getpid(), err
}

func (s *selvageSide) seed(ctx context.Context, thread string, turns []turn) error {
	for _, t := range turns {
		if err := s.append(ctx, thread, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *selvageSide) append(ctx context.Context, thread string, t turn) error {
	set := selvage.ChangeSet{ID: selvage.NewID(), Messages: []selvage.Message{
		{ID: selvage.NewID(), Role: selvage.RoleUser, Content: selvage.Text(t[0])},
		{ID: selvage.NewID(), Role: selvage.RoleAssistant, Content: selvage.Text(t[1])}}}
	receipt, err := s.store.Append(ctx, selvage.ThreadID(thread), set, selvage.Exact(s.last[thread]))
	s.last[thread] = receipt.Version
	return err
}

func (s *selvageSide) take(ctx context.Context, thread string, t turn) (cost, error) {
	begin := time.Now()
	if s.loop {
		s.answer = t[1]
		_, err := s.runner.Run(ctx, selvage.ThreadID(thread), runner.Text(t[0]))
		return cost{whole: time.Since(begin)}, err
	}
	if _, err := s.loader.Load(ctx, selvage.ThreadID(thread), selvage.LoadOptions{}); err != nil {
		return cost{}, err
	}
	loaded := time.Now()
	err := s.append(ctx, thread, t)
	end := time.Now()
	return cost{write: end.Sub(loaded), load: loaded.Sub(begin), whole: end.Sub(begin)}, err
}

func (s *selvageSide) history(ctx context.Context, thread string) (int, time.Duration, error) {
	all := 1 << 30
	begin := time.Now()
	head, err := s.loader.Load(ctx, selvage.ThreadID(thread), selvage.LoadOptions{Messages: &all})
	return len(head.Messages), time.Since(begin), err
}

func (s *selvageSide) close() error {
	return errors.Join(s.loader.Close(), s.store.Close())
}

// Name and Stream make it a model that has its answer ready.

func (s *selvageSide) Name() string { return "bench/ready" }

func (s *selvageSide) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Text: s.answer}, nil) && yield(model.Chunk{Finish: model.FinishStop}, nil) // who leaves early has its reasons
	}
}
