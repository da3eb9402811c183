package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func configRollback(k *kit) {
	n := newAgent()
	first := k.publish(n, `{"v":1}`)
	k.publish(n, `{"v":2}`)
	back, err := k.config().Rollback(k.Context(), n, 1, selvage.Any())
	if err != nil || back.Version != 3 || back.RestoredFrom != 1 || back.Hash != first.Hash || string(back.Value) != `{"v":1}` {
		k.Fatalf("a rollback answers %s, error %v", encode(k, back), err)
	}
	k.equal("the version read", k.version(n, 0), back)
	for _, to := range []selvage.Version{1, 3} {
		if v, err := k.config().Rollback(k.Context(), n, to, selvage.Any()); err != nil || !v.Unchanged || v.Version != 3 {
			k.Errorf("a rollback to what is current answers %s, error %v", encode(k, v), err)
		}
	}
	_, err = k.config().Rollback(k.Context(), n, 4, selvage.Any())
	k.class("rollback to what is not there", err, selvage.ErrNotFound)
	_, err = k.config().Rollback(k.Context(), n, 0, selvage.Any())
	k.class("rollback to version 0", err, selvage.ErrInvalid)
	_, err = k.config().Rollback(k.Context(), newAgent(), 1, selvage.Any())
	k.class("rollback of nothing", err, selvage.ErrNotFound)
	if got := k.configHistory(n); got != `3:{"v":1} 2:{"v":2} 1:{"v":1}` {
		k.Errorf("the history is %s", got)
	}
}

func configArchived(k *kit) {
	c, n := k.config(), newAgent()
	k.class("archive of nothing", c.Archive(k.Context(), n), selvage.ErrNotFound)
	k.publish(n, `1`, `2`)
	for range 2 {
		if err := c.Archive(k.Context(), n); err != nil {
			k.Fatalf("archive failed: %v", err)
		}
	}
	_, err := c.Publish(k.Context(), valued(n, `3`), selvage.Any())
	k.class("publish of an archived resource", err, selvage.ErrInvalid)
	_, err = c.Rollback(k.Context(), n, 1, selvage.Any())
	k.class("rollback of an archived resource", err, selvage.ErrInvalid)
	if got := k.configHistory(n); got != "2:2 1:1" || string(k.version(n, 0).Value) != `2` {
		k.Errorf("the history of an archived resource is %s", got)
	}
	listed := func(archived bool) bool {
		all := walk(k, k.resourcePages(selvage.ConfigQuery{Kind: n.Kind, Archived: archived}))
		return slices.ContainsFunc(all, func(r selvage.ConfigResource) bool { return r.ConfigName == n })
	}
	if listed(false) || !listed(true) {
		k.Errorf("an archived resource is listed: %v, among archived ones: %v", listed(false), listed(true))
	}
	if err := c.Unarchive(k.Context(), n); err != nil || !listed(false) {
		k.Errorf("unarchive failed: %v, listed: %v", err, listed(false))
	}
	if v := k.publish(n, `3`); v.Version != 3 {
		k.Errorf("after unarchive version %d was published", v.Version)
	}
}

func configLists(k *kit) {
	k = k.alone()
	var want, agents []string
	for _, name := range []string{"agent/a", "agent/a b", "agent/ab", "agents/a", "tool/x"} {
		kind, id, _ := strings.Cut(name, "/")
		k.publish(selvage.ConfigName{Kind: kind, ID: id}, `1`)
		want = append(want, name)
		if kind == "agent" {
			agents = append(agents, name)
		}
	}
	listed := func(q selvage.ConfigQuery) []string {
		out := []string{}
		for _, r := range walk(k, k.resourcePages(q)) {
			out = append(out, r.Kind+"/"+r.ID)
		}
		return out
	}
	for limit := 1; limit < 4; limit++ {
		k.equal("resources", listed(selvage.ConfigQuery{Limit: &limit}), want)
		k.equal("agents", listed(selvage.ConfigQuery{Kind: "agent", Limit: &limit}), agents)
	}
	k.equal("a kind that is not there", listed(selvage.ConfigQuery{Kind: "none"}), []string{})
	_, err := k.config().Versions(k.Context(), selvage.ConfigVersionQuery{Name: newAgent()})
	k.class("versions of nothing", err, selvage.ErrNotFound)
	for _, limit := range []int{0, -1} {
		page, err := k.config().Resources(k.Context(), selvage.ConfigQuery{Limit: &limit})
		if limit == 0 && (err != nil || len(page.Items) != 0 || page.Items == nil) {
			k.Errorf("a limit of 0 answers %s, error %v", encode(k, page), err)
		} else if limit < 0 {
			k.class("a negative limit", err, selvage.ErrInvalid)
		}
	}
}

func configCursors(k *kit) {
	k = k.alone()
	one, two := selvage.ConfigName{Kind: "agent", ID: "a"}, selvage.ConfigName{Kind: "agent", ID: "b"}
	k.publish(one, `1`, `2`, `3`)
	k.publish(two, `1`, `2`, `3`)
	versions := selvage.ConfigVersionQuery{Name: one, Limit: ptr(1)}
	c := cursor(k, k.versionPages(versions))
	refuses(k, "versions of another resource by a cursor", c, k.versionPages(selvage.ConfigVersionQuery{Name: two}))
	k.cursorIsSealed("versions", c, func(c selvage.Cursor) error { _, _, err := k.versionPages(versions)(c); return err })
	q := selvage.ConfigQuery{Kind: "agent", Limit: ptr(1)}
	r := cursor(k, k.resourcePages(q))
	refuses(k, "all resources by a cursor of a kind", r, k.resourcePages(selvage.ConfigQuery{}))
	refuses(k, "archived resources by a cursor of others", r, k.resourcePages(selvage.ConfigQuery{Kind: "agent", Archived: true}))
	refuses(k, "versions by a cursor of resources", r, k.versionPages(versions))
}

func configPrune(k *kit) {
	k = k.alone()
	n, other := selvage.ConfigName{Kind: "agent", ID: "a"}, selvage.ConfigName{Kind: "tool", ID: "t"}
	for i := range 8 {
		k.publish(n, fmt.Sprint(i+1))
		k.publish(other, fmt.Sprint(i+1))
	}
	if _, err := k.publications().Publish(k.Context(), selvage.PublicationDraft{Pins: []selvage.ConfigPin{{ConfigName: n, Version: 3}}}); err != nil {
		k.Fatalf("publish together failed: %v", err)
	}
	rule := selvage.ConfigRetention{Kind: "agent", KeepLast: 2, Protected: []selvage.ConfigPin{{ConfigName: n, Version: 5}}, DryRun: true}
	prune := func(want ...selvage.Version) {
		k.Helper()
		pins, err := k.config().Prune(k.Context(), rule)
		got := []selvage.Version{}
		for _, pin := range pins {
			got = append(got, pin.Version)
			if pin.ConfigName != n || pin.Hash.IsZero() {
				k.Errorf("pruned %s", encode(k, pin))
			}
		}
		if err != nil || !slices.Equal(got, want) {
			k.Errorf("pruning %s removed versions %v, error %v; want %v", encode(k, rule), got, err, want)
		}
	}
	prune(1, 2, 4, 6)
	rule.KeepYounger = time.Hour
	prune()
	rule.KeepYounger, rule.DryRun, rule.Limit = 0, false, 3
	prune(1, 2, 4)
	rule.Limit = 0
	prune(6)
	prune()
	if got := k.configHistory(n); got != "8:8 7:7 5:5 3:3" {
		k.Errorf("what is left is %s", got)
	}
	_, err := k.config().Version(k.Context(), n, 2)
	k.class("read a pruned version", err, selvage.ErrGone)
	_, err = k.config().Rollback(k.Context(), n, 2, selvage.Any())
	k.class("rollback to a pruned version", err, selvage.ErrGone)
	if got := k.configHistory(other); !strings.HasSuffix(got, " 1:1") {
		k.Errorf("what the rule did not name is %s", got)
	}
	if v := k.publish(n, `9`); v.Version != 9 {
		k.Errorf("after pruning version %d was published; want 9", v.Version)
	}
	_, err = k.config().Prune(k.Context(), selvage.ConfigRetention{KeepLast: -1})
	k.class("prune by a bad rule", err, selvage.ErrInvalid)
}

func configLimits(k *kit) {
	n := newAgent()
	for _, bad := range []selvage.ConfigName{{}, {Kind: "agent"}, {ID: "a"}, {Kind: "a/b", ID: "a"}, {Kind: "agent", ID: ".."}} {
		_, err := k.config().Publish(k.Context(), valued(bad, `1`), selvage.Any())
		k.class(fmt.Sprintf("publish of %q", bad), err, selvage.ErrInvalid)
		_, err = k.config().Resource(k.Context(), bad)
		k.class(fmt.Sprintf("read of %q", bad), err, selvage.ErrInvalid)
	}
	for _, value := range []string{``, `{`, `{"a":1,"a":2}`, "\"\xff\""} {
		_, err := k.config().Publish(k.Context(), valued(n, value), selvage.Any())
		k.class("publish of "+value, err, selvage.ErrInvalid)
	}
	_, err := k.config().Publish(k.Context(), valued(n, `"`+strings.Repeat("x", selvage.MaxConfigBytes)+`"`), selvage.Any())
	k.class("publish of too much", err, selvage.ErrTooLarge)
	note := valued(n, `1`)
	note.Note = strings.Repeat("x", selvage.MaxConfigNote+1)
	_, err = k.config().Publish(k.Context(), note, selvage.Any())
	k.class("publish with too long a note", err, selvage.ErrTooLarge)
	_, err = k.config().Resource(k.Context(), n)
	k.class("read of nothing", err, selvage.ErrNotFound)
	k.publish(n, `1`)
	_, err = k.config().Version(k.Context(), n, 2)
	k.class("read of no version", err, selvage.ErrNotFound)
	_, err = k.config().Version(k.Context(), n, -1)
	k.class("read of a negative version", err, selvage.ErrInvalid)
}

func configSurvives(k *kit) {
	k = k.alone()
	n := newAgent()
	v := k.publish(n, `1`, `2`)
	p, err := k.publications().Publish(k.Context(), selvage.PublicationDraft{ID: "p", Pins: []selvage.ConfigPin{{ConfigName: n}}})
	if err != nil {
		k.Fatalf("publish together failed: %v", err)
	}
	k = k.restart()
	k.equal("the current version after a restart", k.version(n, 0), v)
	got, err := k.publications().Publication(k.Context(), "")
	if err != nil || encode(k, got) != encode(k, p) {
		k.Errorf("the newest publication after a restart is %s, error %v; want %s", encode(k, got), err, encode(k, p))
	}
}

func configIsShared(k *kit) {
	a, b := k.pair()
	n := newAgent()
	k.equal("what the other published", b.version(n, a.publish(n, `0`).Version), a.version(n, 0))
	for current := selvage.Version(1); current < 5; current++ {
		errs := together(8, func(i int) error {
			_, err := []*kit{a, b}[i%2].config().Publish(k.Context(), valued(n, fmt.Sprintf(`"%d.%d"`, current, i)), selvage.Exact(current))
			return err
		})
		k.winner("publishing at one version from two sides", errs, selvage.ErrConflict)
	}
	k.equal("the current version", b.version(n, 0), a.version(n, 0))
}
