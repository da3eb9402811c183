package main

import (
	"context"
	"time"

	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/store/sqlite"
)

// keeper keeps conversations in a place.
type keeper interface {
	// open begins to work on what is there. It says what a commit survives, in
	// the words of the engine, and which process writes.
	open(ctx context.Context, address string) (durability string, pid int, err error)
	// seed makes a thread that so many turns were taken on.
	seed(ctx context.Context, thread string, turns []turn) error
	// take takes a turn as an application does that remembers nothing of the
	// thread: it loads what the turn needs and writes what was said.
	take(ctx context.Context, thread string, t turn) (cost, error)
	// history loads every message and answers how many there are.
	history(ctx context.Context, thread string) (int, time.Duration, error)
	// close completes the files.
	close() error
}

// cost is what a turn took.
type cost struct {
	write time.Duration // what was said, until it is acknowledged
	load  time.Duration // what the turn needs
	whole time.Duration // both, and the work of the library around them
}

// contestant is a keeper in its place.
type contestant struct {
	engine, name string
	heavy        bool // its turns cost more the longer the thread is
	place        place
	keeper       keeper

	opened     bool
	durability string
	pid        int
	before     int64 // bytes stored before the turns that are measured
	written    int64 // by them
	took       []cost
	histories  []time.Duration
	turns      int
}

// The names of the contestants.
const (
	selvageName   = "Selvage"
	crashSafeName = "Selvage, crash-safe" // survives what the peer survives as it is shipped
	peerName      = "LangGraph.js"
	rewriteName   = "whole state rewritten"
)

// contestants are all of them, with the peer if it is installed.
func contestants(cfg config, cluster *pgtest.Cluster, peer bool) []*contestant {
	sqliteOf := func(name string, heavy bool, k keeper) *contestant {
		return &contestant{engine: "SQLite", name: name, heavy: heavy, place: &file{parent: cfg.dir}, keeper: k}
	}
	postgresOf := func(name string, heavy bool, k keeper) *contestant {
		return &contestant{engine: "PostgreSQL", name: name, heavy: heavy, place: &database{cluster: cluster}, keeper: k}
	}
	all := []*contestant{
		sqliteOf(selvageName, false, &selvageSide{opener: openSQLite(sqlite.Durable)}),
		sqliteOf(crashSafeName, false, &selvageSide{opener: openSQLite(sqlite.CrashSafe)}),
		sqliteOf(selvageName+" and its loop", false, &selvageSide{opener: openSQLite(sqlite.Durable), loop: true}),
		sqliteOf(rewriteName, true, &rewrite{row: &rowInSQLite{}}),
		postgresOf(selvageName, false, &selvageSide{opener: openPostgres}),
		postgresOf(selvageName+" and its loop", false, &selvageSide{opener: openPostgres, loop: true}),
		postgresOf(rewriteName, true, &rewrite{row: &rowInPostgres{}}),
	}
	if peer {
		all = append(all,
			sqliteOf(peerName, true, &langgraph{cfg: cfg, engine: "sqlite"}),
			sqliteOf(peerName+", every commit forced", true, &langgraph{cfg: cfg, engine: "sqlite", synchronous: "FULL"}),
			sqliteOf(peerName+", durability exit", true, &langgraph{cfg: cfg, engine: "sqlite", durability: "exit"}),
			postgresOf(peerName, true, &langgraph{cfg: cfg, engine: "postgres"}),
			postgresOf(peerName+", durability exit", true, &langgraph{cfg: cfg, engine: "postgres", durability: "exit"}),
		)
	}
	return all
}
