package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

func runPromises() []promise {
	const machine = "CONTRACT 18: created -> running | done; running -> waiting | done; waiting -> running | done; same -> same; done is final"
	return []promise{
		{"StatusMachine", machine + "; every store enforces it.", statusMachine},
		{"DoneIsFinal", machine + ".", doneIsFinal},
		{"OneOpenRun", "CONTRACT 18: at most one open run a thread, kept in the head row.", oneOpenRun},
		{"CloseAndOpenInOneSet", "CONTRACT 8: a set may carry several run updates: close the dead one, open the next.", closeAndOpenInOneSet},
		{"SeveralUpdatesOfOneRun", "CONTRACT 8: the run updates of a set take effect in its order.", severalUpdatesOfOneRun},
		{"UniquePerStore", "CONTRACT 18: run ids are unique per tenant.", uniquePerStore},
		{"HeadShowsTheRun", "CONTRACT 18: active = running, open = not done; ARCHITECTURE 3: the thread names active, open and latest run.", headShowsTheRun},
		{"EverythingOfARunIsKept", "ARCHITECTURE 3: a run's spec says what it was resolved to: enough to continue it elsewhere.", everythingOfARunIsKept},
		{"UpdatesAreTotals", "RunUpdate: totals are absolute, nil leaves what is there; agent, parent and spec count when the run is created.", updatesAreTotals},
		{"TimesOfARun", "ARCHITECTURE 3: a run has the times of its creation, start, last update and end.", timesOfARun},
	}
}

// status is an update that takes a run to a status, complete with what the
// status demands.
func status(id selvage.RunID, to selvage.RunStatus) selvage.RunUpdate {
	u := selvage.RunUpdate{ID: id, Status: to}
	switch to {
	case selvage.RunDone:
		u.Outcome = &selvage.Outcome{Kind: selvage.OutcomeStopped, Code: "max_turns", Detail: "enough"}
	case selvage.RunWaiting:
		u.Waiting = &selvage.Waiting{Reason: selvage.WaitApproval, Tickets: []string{"t-1", "t-2"}, Message: "may I?"}
	}
	return u
}

func newRunID() selvage.RunID { return selvage.RunID("run-" + selvage.NewID()) }

// bring appends what takes a new run to a status; "" makes none.
func (k *kit) bring(id selvage.ThreadID, run selvage.RunID, to selvage.RunStatus) {
	k.Helper()
	path := map[selvage.RunStatus][]selvage.RunStatus{
		selvage.RunCreated: {selvage.RunCreated},
		selvage.RunRunning: {selvage.RunRunning},
		selvage.RunWaiting: {selvage.RunRunning, selvage.RunWaiting},
		selvage.RunDone:    {selvage.RunRunning, selvage.RunDone},
	}
	for _, s := range path[to] {
		k.append(id, runSet(status(run, s)), selvage.Any())
	}
}

func (k *kit) run(id selvage.ThreadID, run selvage.RunID) selvage.Run {
	k.Helper()
	all := k.runs(selvage.RunQuery{ThreadID: id})
	i := slices.IndexFunc(all, func(r selvage.Run) bool { return r.ID == run })
	if i < 0 {
		k.Fatalf("run %q is not among the %d runs of its thread", run, len(all))
	}
	return all[i]
}

func statusMachine(k *kit) {
	const created, running, waiting, done = selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone
	allowed := map[selvage.RunStatus][]selvage.RunStatus{
		"":      {created, running},
		created: {created, running, done},
		running: {running, waiting, done},
		waiting: {waiting, running, done},
		done:    {},
	}
	for from, next := range allowed {
		for _, to := range []selvage.RunStatus{created, running, waiting, done} {
			id, run := k.create(says("hello")), newRunID()
			k.bring(id, run, from)
			k.Logf("a run from %q to %q", from, to)
			if !slices.Contains(next, to) {
				k.refuseField(id, runSet(status(run, to)), selvage.Any(), "runs")
				continue
			}
			k.append(id, runSet(status(run, to)), selvage.Any())
			if got := k.run(id, run); got.Status != to || (got.Outcome != nil) != (to == done) || (got.Waiting != nil) != (to == waiting) {
				k.Errorf("a run taken from %q to %q is %s; want an outcome exactly when done, and a reason to wait exactly when waiting", from, to, encode(k, got))
			}
		}
	}
}

func doneIsFinal(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	k.bring(id, run, selvage.RunDone)
	before := k.run(id, run)
	for _, to := range []selvage.RunStatus{selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunDone} {
		k.refuseField(id, runSet(status(run, to)), selvage.Any(), "runs")
	}
	k.append(id, says("more"), selvage.Any())
	k.equal("a run that is done", k.run(id, run), before)
}

func oneOpenRun(k *kit) {
	for _, open := range []selvage.RunStatus{selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting} {
		id, first, second := k.create(says("hello")), newRunID(), newRunID()
		k.bring(id, first, open)
		for _, to := range []selvage.RunStatus{selvage.RunCreated, selvage.RunRunning} {
			k.Logf("a run to %q beside one that is %q", to, open)
			k.refuseField(id, runSet(status(second, to)), selvage.Any(), "runs")
		}
		k.append(id, runSet(status(first, selvage.RunDone)), selvage.Any())
		k.append(id, runSet(status(second, selvage.RunRunning)), selvage.Any())
		if h := k.load(id); h.Thread.OpenRunID != second {
			k.Errorf("the open run is %q; want %q, the second", h.Thread.OpenRunID, second)
		}
	}
	id := k.create(says("hello"))
	k.refuseField(id, runSet(status(newRunID(), selvage.RunCreated), status(newRunID(), selvage.RunCreated)), selvage.Any(), "runs")
	// Another thread's open run is no obstacle.
	k.bring(k.create(says("one")), newRunID(), selvage.RunRunning)
	k.bring(k.create(says("two")), newRunID(), selvage.RunRunning)
}

func closeAndOpenInOneSet(k *kit) {
	id, dead, next := k.create(says("hello")), newRunID(), newRunID()
	k.bring(id, dead, selvage.RunRunning)
	abandoned := selvage.RunUpdate{ID: dead, Status: selvage.RunDone, Outcome: &selvage.Outcome{Kind: selvage.OutcomeFailed, Code: "abandoned"}}
	// In the other order two runs would be open for a moment.
	k.refuseField(id, runSet(status(next, selvage.RunRunning), abandoned), selvage.Any(), "runs")
	r := k.append(id, runSet(abandoned, status(next, selvage.RunRunning)), selvage.Any())
	if r.Version != 3 || r.Events != 2 {
		k.Errorf("closing one run and opening another answers version %d and %d events; want 3 and 2", r.Version, r.Events)
	}
	if got := k.run(id, dead); got.Status != selvage.RunDone || got.Outcome == nil || got.Outcome.Code != "abandoned" {
		k.Errorf("the abandoned run is %s; want it done", encode(k, got))
	}
	if h := k.load(id); h.OpenRun == nil || h.OpenRun.ID != next || h.Thread.LatestRunID != next {
		k.Errorf("the head is %s; want run %q open", encode(k, h), next)
	}
}

func severalUpdatesOfOneRun(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	k.append(id, runSet(status(run, selvage.RunCreated), status(run, selvage.RunRunning), status(run, selvage.RunWaiting),
		status(run, selvage.RunRunning), status(run, selvage.RunDone)), selvage.Any())
	if got := k.run(id, run); got.Status != selvage.RunDone {
		k.Errorf("a run taken through every status in one set is %q; want done", got.Status)
	}
	if h := k.load(id); h.OpenRun != nil || h.Thread.OpenRunID != "" || h.Thread.ActiveRunID != "" || h.Thread.LatestRunID != run {
		k.Errorf("the head is %s; want no open run, and %q the latest", encode(k, h), run)
	}
	k.refuseField(id, runSet(status(newRunID(), selvage.RunCreated), status(run, selvage.RunRunning)), selvage.Any(), "runs")
}

func uniquePerStore(k *kit) {
	run := newRunID()
	first, second := k.create(says("one")), k.create(says("two"))
	for _, s := range []selvage.RunStatus{selvage.RunCreated, selvage.RunDone} {
		k.append(first, runSet(status(run, s)), selvage.Any())
		for _, to := range []selvage.RunStatus{selvage.RunCreated, selvage.RunRunning, selvage.RunDone} {
			k.Logf("another thread takes a run that is %q to %q", s, to)
			k.refuseField(second, runSet(status(run, to)), selvage.Any(), "runs")
		}
	}
	k.refuseField(newID(), runSet(status(run, selvage.RunRunning)), selvage.New(), "runs")
	if got := k.run(first, run); got.ThreadID != first {
		k.Errorf("run %q is of thread %q; want %q", run, got.ThreadID, first)
	}
}

func headShowsTheRun(k *kit) {
	id := k.create(says("hello"))
	if h := k.load(id); h.OpenRun != nil || h.Thread.OpenRunID != "" || h.Thread.ActiveRunID != "" || h.Thread.LatestRunID != "" {
		k.Errorf("a thread without runs has the head %s", encode(k, h))
	}
	for range 2 {
		run := newRunID()
		for _, s := range []selvage.RunStatus{selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunRunning, selvage.RunDone} {
			k.append(id, runSet(status(run, s)), selvage.Any())
			var open, active selvage.RunID
			if s != selvage.RunDone {
				open = run
			}
			if s == selvage.RunRunning {
				active = run
			}
			h := k.load(id)
			if t := h.Thread; t.OpenRunID != open || t.ActiveRunID != active || t.LatestRunID != run {
				k.Errorf("with a run that is %q the thread has open %q, active %q, latest %q; want %q, %q, %q", s, t.OpenRunID, t.ActiveRunID, t.LatestRunID, open, active, run)
			}
			if (h.OpenRun != nil) != (open != "") {
				k.Fatalf("with a run that is %q the head's open run is %v", s, h.OpenRun)
			}
			if h.OpenRun != nil {
				k.equal("open run of the head", h.OpenRun, k.run(id, run))
			}
			k.append(id, says("another change"), selvage.Any())
		}
	}
}

func everythingOfARunIsKept(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	u := richRun(run)
	r := k.append(id, runSet(u), selvage.Any())
	want := selvage.Run{ID: run, ThreadID: id, AgentID: u.AgentID, ParentRunID: u.ParentRunID, Spec: u.Spec, Status: u.Status, Limits: u.Limits,
		Usage: *u.Usage, Cost: *u.Cost, Steps: *u.Steps, Error: *u.Error, CreatedAt: r.At, StartedAt: r.At, UpdatedAt: r.At}
	k.equal("run", k.run(id, run), want)
	k.equal("open run of the head", k.load(id).OpenRun, want)

	k.tick()
	waiting := status(run, selvage.RunWaiting)
	r = k.append(id, runSet(waiting), selvage.Any())
	want.Status, want.Waiting, want.UpdatedAt = selvage.RunWaiting, waiting.Waiting, r.At
	k.equal("waiting run", k.load(id).OpenRun, want)

	end := status(run, selvage.RunDone)
	r = k.append(id, runSet(end), selvage.Any())
	want.Status, want.Waiting, want.Outcome, want.UpdatedAt, want.FinishedAt = selvage.RunDone, nil, end.Outcome, r.At, r.At
	k.equal("done run", k.run(id, run), want)
}

func updatesAreTotals(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	first := richRun(run)
	k.append(id, runSet(first), selvage.Any())
	k.append(id, runSet(selvage.RunUpdate{ID: run, Status: selvage.RunRunning, AgentID: "other", ParentRunID: "other", Spec: &selvage.RunSpec{Model: "other"}}), selvage.Any())
	got := k.run(id, run)
	if got.AgentID != first.AgentID || got.ParentRunID != first.ParentRunID || encode(k, got.Spec) != encode(k, first.Spec) {
		k.Errorf("a later update changed what the run is to %s; want agent, parent and spec of its creation", encode(k, got))
	}
	if got.Usage != *first.Usage || got.Cost != *first.Cost || got.Steps != *first.Steps || got.Error != *first.Error {
		k.Errorf("an update without totals left %s; want them as they were", encode(k, got))
	}
	totals := selvage.RunUpdate{ID: run, Status: selvage.RunRunning, Usage: &selvage.Usage{InputTokens: 1}, Cost: ptr(selvage.Money(0)), Steps: ptr(0), Error: ptr("")}
	for range 2 { // sent twice counts once
		k.append(id, runSet(totals), selvage.Any())
		if got := k.run(id, run); got.Usage != *totals.Usage || got.Cost != 0 || got.Steps != 0 || got.Error != "" {
			k.Errorf("an update with totals left %s; want exactly those", encode(k, got))
		}
	}
}

func timesOfARun(k *kit) {
	id, run := k.create(says("hello")), newRunID()
	at := make(map[selvage.RunStatus]time.Time)
	for _, s := range []selvage.RunStatus{selvage.RunCreated, selvage.RunRunning, selvage.RunWaiting, selvage.RunRunning, selvage.RunDone} {
		k.tick()
		r := k.append(id, runSet(status(run, s)), selvage.Any())
		if at[s].IsZero() {
			at[s] = r.At
		}
		got := k.run(id, run)
		want := [4]time.Time{at[selvage.RunCreated], at[selvage.RunRunning], r.At, at[selvage.RunDone]}
		if have := [4]time.Time{got.CreatedAt, got.StartedAt, got.UpdatedAt, got.FinishedAt}; fmt.Sprint(have) != fmt.Sprint(want) {
			k.Errorf("a run that became %q was created, started, updated and finished at %v; want %v", s, have, want)
		}
	}
}
