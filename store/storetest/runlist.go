package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

func runListPromises() []promise {
	return []promise{
		{"Filters", "RunQuery: by id, thread, agent, parent run, status, open, and time of creation, all of them together.", runFilters},
		{"InOrderOfCreation", "RunQuery: by creation, newest first unless told otherwise.", runsInOrderOfCreation},
		{"Since", "RunQuery: only runs created at or after a time, in milliseconds, as all times are.", runsSince},
		{"PageLimits", "CONTRACT 17: limit 0 is an empty page, above the maximum it is clamped, negative is invalid; default 50, maximum 200.", runPageLimits},
		{"PagesUnderInserts", "ARCHITECTURE 3: cursors are keyset-based, so that a concurrent insert neither skips nor repeats a row.", runPagesUnderInserts},
		{"UnknownWordsAreInvalid", "ARCHITECTURE 3: input that breaks a rule is invalid, not guessed at.", unknownRunWords},
	}
}

func runIDs(runs []selvage.Run) []selvage.RunID {
	ids := []selvage.RunID{}
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

func runFilters(k *kit) {
	k = k.alone()
	one, two := k.create(says("one")), k.create(says("two"))
	begin := func(id selvage.ThreadID, run, agent, parent string, to selvage.RunStatus) {
		u := status(selvage.RunID(run), selvage.RunRunning)
		u.AgentID, u.ParentRunID = agent, selvage.RunID(parent)
		k.append(id, runSet(u), selvage.Any())
		if to != selvage.RunRunning {
			k.append(id, runSet(status(selvage.RunID(run), to)), selvage.Any())
		}
	}
	begin(one, "a", "planner", "", selvage.RunDone)
	begin(one, "b", "coder", "a", selvage.RunDone)
	begin(one, "c", "coder", "a", selvage.RunWaiting)
	begin(two, "d", "planner", "", selvage.RunRunning)
	for _, tt := range []struct {
		q    selvage.RunQuery
		want []selvage.RunID
	}{
		{selvage.RunQuery{}, []selvage.RunID{"a", "b", "c", "d"}},
		{selvage.RunQuery{ID: "b"}, []selvage.RunID{"b"}},
		{selvage.RunQuery{ID: "d", ThreadID: two, Open: true}, []selvage.RunID{"d"}},
		{selvage.RunQuery{ID: "d", ThreadID: one}, []selvage.RunID{}},
		{selvage.RunQuery{ID: "nobody"}, []selvage.RunID{}},
		{selvage.RunQuery{ThreadID: one}, []selvage.RunID{"a", "b", "c"}},
		{selvage.RunQuery{ThreadID: two}, []selvage.RunID{"d"}},
		{selvage.RunQuery{ThreadID: "nobody"}, []selvage.RunID{}},
		{selvage.RunQuery{AgentID: "coder"}, []selvage.RunID{"b", "c"}},
		{selvage.RunQuery{ParentRunID: "a"}, []selvage.RunID{"b", "c"}},
		{selvage.RunQuery{Status: selvage.RunDone}, []selvage.RunID{"a", "b"}},
		{selvage.RunQuery{Status: selvage.RunWaiting}, []selvage.RunID{"c"}},
		{selvage.RunQuery{Status: selvage.RunCreated}, []selvage.RunID{}},
		{selvage.RunQuery{Open: true}, []selvage.RunID{"c", "d"}},
		{selvage.RunQuery{Open: true, ThreadID: one, AgentID: "coder", ParentRunID: "a", Status: selvage.RunWaiting}, []selvage.RunID{"c"}},
		{selvage.RunQuery{Open: true, Status: selvage.RunDone}, []selvage.RunID{}},
		{selvage.RunQuery{AgentID: "coder", Status: selvage.RunDone}, []selvage.RunID{"b"}},
	} {
		q := tt.q
		q.Order = selvage.Ascending
		k.equal(fmt.Sprintf("runs of %+v", tt.q), runIDs(k.runs(q)), tt.want)
	}
	if got := k.runs(selvage.RunQuery{Status: selvage.RunWaiting}); got[0].Waiting == nil || got[0].ThreadID != one {
		k.Errorf("the waiting run is listed as %s", encode(k, got[0]))
	}
}

func runsInOrderOfCreation(k *kit) {
	k = k.alone()
	ids := []selvage.ThreadID{k.create(says("a")), k.create(says("b")), k.create(says("c"))}
	want := []selvage.RunID{}
	for i := range 21 {
		run := newRunID()
		want = append(want, run)
		k.append(ids[i%3], runSet(status(run, selvage.RunRunning)), selvage.Any())
		if i >= 2 { // a run that ends keeps its place
			k.append(ids[(i+1)%3], runSet(status(want[i-2], selvage.RunDone)), selvage.Any())
		}
	}
	q := selvage.RunQuery{Order: selvage.Ascending}
	k.equal("runs, oldest first", runIDs(k.runs(q)), want)
	slices.Reverse(want)
	k.equal("runs in no order asked for", runIDs(k.runs(selvage.RunQuery{})), want)
	k.equal("runs, newest first", runIDs(k.runs(selvage.RunQuery{Order: selvage.Descending})), want)
}

func runsSince(k *kit) {
	k = k.alone()
	id := k.create(says("hello"))
	before := time.Now()
	k.bring(id, "a", selvage.RunDone)
	run := k.run(id, "a")
	for _, tt := range []struct {
		name  string
		since time.Time
		want  []selvage.RunID
	}{
		{"when it was created", run.CreatedAt, []selvage.RunID{"a"}},
		{"just before it was created", before, []selvage.RunID{"a"}},
		{"later in its millisecond, finer than times are stored", run.CreatedAt.Add(999 * time.Microsecond), []selvage.RunID{"a"}},
		{"an hour earlier", run.CreatedAt.Add(-time.Hour), []selvage.RunID{"a"}},
		{"in another time zone", run.CreatedAt.In(time.FixedZone("elsewhere", -7200)), []selvage.RunID{"a"}},
		{"a millisecond later", run.CreatedAt.Add(time.Millisecond), []selvage.RunID{}},
		{"an hour later", run.CreatedAt.Add(time.Hour), []selvage.RunID{}},
	} {
		k.equal("runs since "+tt.name, runIDs(k.runs(selvage.RunQuery{Since: tt.since})), tt.want)
	}
}

func runPageLimits(k *kit) {
	k = k.alone()
	id := k.create(says("hello"))
	set := selvage.ChangeSet{}
	for range selvage.MaxPage + 5 {
		run := newRunID()
		set.Runs = append(set.Runs, status(run, selvage.RunRunning), status(run, selvage.RunDone))
	}
	k.append(id, set, selvage.Any())
	read := func(limit *int) selvage.RunPage {
		page, err := k.store.Runs(k.Context(), selvage.RunQuery{Limit: limit})
		if err != nil {
			k.Fatalf("runs with limit %s failed: %v", encode(k, limit), err)
		}
		return page
	}
	for _, tt := range []struct {
		limit *int
		want  int
	}{{nil, selvage.DefaultPage}, {ptr(1), 1}, {ptr(selvage.MaxPage + 1), selvage.MaxPage}} {
		if page := read(tt.limit); len(page.Items) != tt.want || page.Next == "" {
			k.Errorf("limit %s answers %d runs, cursor %q; want %d and a cursor", encode(k, tt.limit), len(page.Items), page.Next, tt.want)
		}
	}
	if page := read(ptr(0)); page.Items == nil || len(page.Items) != 0 || page.Next != "" {
		k.Errorf("limit 0 answers %d runs (nil: %v), cursor %q; want an empty page, not nil, without cursor", len(page.Items), page.Items == nil, page.Next)
	}
	_, err := k.store.Runs(k.Context(), selvage.RunQuery{Limit: ptr(-1)})
	k.class("runs with limit -1", err, selvage.ErrInvalid)
	if all := k.runs(selvage.RunQuery{ThreadID: id, Order: selvage.Ascending}); len(all) != len(set.Runs)/2 || all[0].ID != set.Runs[0].ID {
		k.Errorf("%d runs of one set, by pages, are %d", len(set.Runs)/2, len(all))
	}
}

func runPagesUnderInserts(k *kit) {
	for _, order := range []selvage.Order{selvage.Ascending, selvage.Descending} {
		k := k.alone()
		id := k.create(says("hello"))
		begin := func() selvage.RunID {
			run := newRunID()
			k.bring(id, run, selvage.RunDone)
			return run
		}
		want := []selvage.RunID{}
		for range 15 {
			want = append(want, begin())
		}
		if order == selvage.Descending {
			slices.Reverse(want)
		}
		got := walkAnd(k, k.runPages(selvage.RunQuery{Limit: ptr(4), Order: order}), func(page int, _ []selvage.Run) {
			if page > 3 {
				return
			}
			if run := begin(); order == selvage.Ascending {
				want = append(want, run) // comes last
			}
		})
		k.equal(fmt.Sprintf("runs by pages, order %q, while others begin", order), runIDs(got), want)
	}
}

func unknownRunWords(k *kit) {
	for what, q := range map[string]selvage.RunQuery{"order": {Order: "up"}, "status": {Status: "paused"}} {
		_, err := k.store.Runs(k.Context(), q)
		k.class("runs with an unknown "+what, err, selvage.ErrInvalid)
	}
}
