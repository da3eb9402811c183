package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

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
