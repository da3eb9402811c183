package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func configPromises(cfg Config) []promise {
	all := []promise{
		{"VersionsGrow", "Config.Publish: each new value is the next version, and comes back byte for byte.", configVersionsGrow},
		{"EqualIsUnchanged", "Config.Publish: a value equal to the current one adds nothing, whatever the order of its keys.", configEqualIsUnchanged},
		{"HashIsCanonical", "ConfigVersion.Hash: it is the same on every backend, whatever the order of keys, and differs with the schema.", configHashIsCanonical},
		{"Preconditions", "Config.Publish: Any takes whatever there is, New no version yet, Exact the current one; a refusal publishes nothing.", configPreconditions},
		{"OneWinner", "Config.Publish: of many who publish at one version, or create a resource, one wins.", configOneWinner},
		{"RollbackCopiesForward", "Config.Rollback: the older value becomes a new version, which names it; history stays.", configRollback},
		{"ArchivedTakesNothing", "Config.Archive: an archived resource takes no version until Unarchive, and stays readable.", configArchived},
		{"ListsAreInOrder", "Config: Resources lists by kind and id, Versions newest first.", configLists},
		{"CursorsAreBound", "Cursor: it belongs to its query and its store; any other, or one that was changed, is invalid.", configCursors},
		{"PruneKeepsWhatIsWanted", "Config.Prune: current, last, young, protected and published versions stay; a dry run removes nothing.", configPrune},
		{"Limits", "Config.Publish: a bad name or value is invalid, too large is too_large; what is not there is not_found.", configLimits},
	}
	if cfg.Reopen != nil {
		all = append(all, promise{"SurvivesClose", "ARCHITECTURE 1: an acknowledged commit survives the end of the process, the registry too.", configSurvives})
	}
	if cfg.Share != nil {
		all = append(all, promise{"IsShared", "SURFACE 2: two processes may use one store at once: each sees what the other publishes, and one wins.", configIsShared})
	}
	return all
}

func (k *kit) config() selvage.Config { k.Helper(); return offered[selvage.Config](k) }

// newAgent names a resource that no other test uses.
func newAgent() selvage.ConfigName {
	return selvage.ConfigName{Kind: "agent", ID: "a-" + selvage.NewID()}
}

// valued is a draft of a value.
func valued(n selvage.ConfigName, value string) selvage.ConfigDraft {
	return selvage.ConfigDraft{ConfigName: n, Value: json.RawMessage(value)}
}

func (k *kit) publish(n selvage.ConfigName, values ...string) (last selvage.ConfigVersion) {
	k.Helper()
	for _, value := range values {
		v, err := k.config().Publish(k.Context(), valued(n, value), selvage.Any())
		if err != nil {
			k.Fatalf("publish %s failed: %v", value, err)
		}
		last = v
	}
	return last
}

// version reads a version, which must be there.
func (k *kit) version(n selvage.ConfigName, v selvage.Version) selvage.ConfigVersion {
	k.Helper()
	out, err := k.config().Version(k.Context(), n, v)
	if err != nil {
		k.Fatalf("read version %d failed: %v", v, err)
	}
	return out
}

func (k *kit) versionPages(q selvage.ConfigVersionQuery) func(selvage.Cursor) ([]selvage.ConfigVersion, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.ConfigVersion, selvage.Cursor, error) {
		q := q
		q.Cursor = c
		page, err := k.config().Versions(k.Context(), q)
		return page.Items, page.Next, err
	}
}

func (k *kit) resourcePages(q selvage.ConfigQuery) func(selvage.Cursor) ([]selvage.ConfigResource, selvage.Cursor, error) {
	return func(c selvage.Cursor) ([]selvage.ConfigResource, selvage.Cursor, error) {
		q := q
		q.Cursor = c
		page, err := k.config().Resources(k.Context(), q)
		return page.Items, page.Next, err
	}
}

// configHistory are the versions of a resource as "number:value", newest first.
func (k *kit) configHistory(n selvage.ConfigName) string {
	k.Helper()
	var out []string
	for _, v := range walk(k, k.versionPages(selvage.ConfigVersionQuery{Name: n, Limit: ptr(2)})) {
		out = append(out, fmt.Sprintf("%d:%s", v.Version, v.Value))
	}
	return strings.Join(out, " ")
}

func configVersionsGrow(k *kit) {
	n := newAgent()
	d := selvage.ConfigDraft{ConfigName: n, Schema: 3, Value: json.RawMessage(`{"b": 9007199254740993, "a": "<&>" }`), Note: "why\nnot"}
	first, err := k.config().Publish(k.Context(), d, selvage.New())
	if err != nil {
		k.Fatalf("publish failed: %v", err)
	}
	k.isStored("the time of a version", first.CreatedAt)
	if first.Version != 1 || string(first.Value) != string(d.Value) || first.Schema != 3 || first.Note != d.Note || first.Hash.IsZero() || first.Unchanged || first.RestoredFrom != 0 {
		k.Errorf("the first version is %s", encode(k, first))
	}
	if got := k.version(n, 0); encode(k, got) != encode(k, first) || string(got.Value) != string(d.Value) {
		k.Errorf("the current version is %s; want %s", encode(k, got), encode(k, first))
	}
	if v := k.publish(n, `[1]`, `"two"`); v.Version != 3 {
		k.Errorf("the third value is version %d", v.Version)
	}
	k.equal("the first version later", k.version(n, 1), first)
	if got := k.configHistory(n); got != `3:"two" 2:[1] 1:`+string(d.Value) {
		k.Errorf("the history is %s", got)
	}
	r, err := k.config().Resource(k.Context(), n)
	if err != nil || r.Current != 3 || r.Hash != k.version(n, 3).Hash || r.Archived || !r.CreatedAt.Equal(first.CreatedAt) || r.UpdatedAt.Before(r.CreatedAt) {
		k.Errorf("the resource is %s, error %v", encode(k, r), err)
	}
}

func configEqualIsUnchanged(k *kit) {
	n := newAgent()
	first := k.publish(n, `{"a":1,"b":[1.0,"é"]}`)
	again := k.publish(n, "{ \"b\" : [1, \"\\u00e9\"],\n\"a\": 1.0}")
	if !again.Unchanged || again.Version != 1 || string(again.Value) != string(first.Value) {
		k.Errorf("an equal value is answered with %s; want version 1 as it is, unchanged", encode(k, again))
	}
	k.publish(n, `{"a":2}`)
	if v := k.publish(n, `{"a":1,"b":[1,"é"]}`); v.Version != 3 || v.Unchanged || v.Hash != first.Hash {
		k.Errorf("an older value published again is %s; want version 3 with the first one's hash", encode(k, v))
	}
	at, err := k.config().Publish(k.Context(), valued(n, `{"b":[1,"é"],"a":1}`), selvage.Exact(3))
	if err != nil || !at.Unchanged {
		k.Errorf("an equal value at the current version answers %s, error %v", encode(k, at), err)
	}
}

func configHashIsCanonical(k *kit) {
	// Worked out once: SHA-256 of "selvage config 1", 0, the schema in 8 bytes, and {"a":1,"b":"é"}.
	const want = "ed555d64db83c1fe850c979df312ffe2858fee85ef5e4465250b9d474e08cb9b"
	got := k.publish(newAgent(), `{"b":"\u00e9","a":1.0}`)
	if got.Hash.String() != want {
		k.Errorf("the hash is %s; want %s, as everywhere", got.Hash, want)
	}
	d := valued(newAgent(), `{"a":1,"b":"é"}`)
	d.Schema = 1
	other, err := k.config().Publish(k.Context(), d, selvage.Any())
	if err != nil || other.Hash == got.Hash {
		k.Errorf("with another schema the hash is %s, error %v; want another", other.Hash, err)
	}
}

func configPreconditions(k *kit) {
	n := newAgent()
	refused := func(value string, pre selvage.Precondition, class error) error {
		k.Helper()
		_, err := k.config().Publish(k.Context(), valued(n, value), pre)
		k.class("publish under "+pre.String(), err, class)
		return err
	}
	k.stale(refused(`1`, selvage.Exact(1), selvage.ErrConflict), 1, 0)
	_, err := k.config().Version(k.Context(), n, 0)
	k.class("read what was not published", err, selvage.ErrNotFound)
	k.publish(n, `1`, `2`)
	refused(`3`, selvage.New(), selvage.ErrAlreadyExists)
	refused(`2`, selvage.New(), selvage.ErrAlreadyExists)
	k.stale(refused(`3`, selvage.Exact(1), selvage.ErrConflict), 1, 2)
	refused(`3`, selvage.Recreate(), selvage.ErrInvalid)
	_, err = k.config().Rollback(k.Context(), n, 1, selvage.Exact(1))
	k.stale(err, 1, 2)
	if got := k.configHistory(n); got != "2:2 1:1" {
		k.Errorf("after refusals the history is %s", got)
	}
	if v, err := k.config().Publish(k.Context(), valued(n, `3`), selvage.Exact(2)); err != nil || v.Version != 3 {
		k.Errorf("publish at version 2 answers version %d, error %v", v.Version, err)
	}
}

func configOneWinner(k *kit) {
	n := newAgent()
	for current := range 4 {
		pre, class := selvage.Exact(selvage.Version(current)), selvage.ErrConflict
		if current == 0 {
			pre, class = selvage.New(), selvage.ErrAlreadyExists
		}
		errs := together(16, func(i int) error {
			_, err := k.config().Publish(k.Context(), valued(n, fmt.Sprintf(`"%d.%d"`, current, i)), pre)
			return err
		})
		won := k.winner("publishing at one version", errs, class)
		if got := k.version(n, 0); got.Version != selvage.Version(current+1) || string(got.Value) != fmt.Sprintf(`"%d.%d"`, current, won) {
			k.Errorf("writer %d won version %d; the current one is %d with %s", won, current+1, got.Version, got.Value)
		}
	}
}

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
