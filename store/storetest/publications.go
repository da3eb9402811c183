package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/selvagehq/selvage"
)

func publicationPromises(Config) []promise {
	return []promise{
		{"BindsVersions", "Publications.Publish: it binds the versions that come of its values, and those it pins, by kind and id.", publicationBinds},
		{"AllOrNone", "Publications.Publish: an id that is taken, or a pin that is not there, writes nothing.", publicationAllOrNone},
		{"OneID", "Publications.Publish: of many under one id one wins, and its versions are the only ones.", publicationOneID},
		{"RollbackRestores", "Publications.Rollback: every resource has the older value again, and the new publication names the older one.", publicationRollback},
		{"NewestFirst", "Publications.List: newest first, numbered from 1 without gaps.", publicationList},
		{"Limits", "Publications.Publish: a resource named twice is invalid, too many are too_large.", publicationLimits},
	}
}

func (k *kit) publications() selvage.Publications {
	k.Helper()
	return offered[selvage.Publications](k)
}

func (k *kit) publishTogether(d selvage.PublicationDraft) selvage.Publication {
	k.Helper()
	p, err := k.publications().Publish(k.Context(), d)
	if err != nil {
		k.Fatalf("publish together failed: %v", err)
	}
	return p
}

// pinned are the pins of a publication as "id:version".
func pinned(p selvage.Publication) string {
	var out []string
	for _, pin := range p.Pins {
		out = append(out, fmt.Sprintf("%s:%d", pin.ID, pin.Version))
	}
	return strings.Join(out, " ")
}

// trio names three resources, in order.
func trio() (a, b, c selvage.ConfigName) {
	a = newAgent()
	b, c = a, a
	a.ID, b.ID, c.ID = a.ID+"-a", b.ID+"-b", c.ID+"-c"
	return a, b, c
}

func publicationBinds(k *kit) {
	a, b, c := trio()
	k.publish(a, `1`, `2`)
	k.publish(c, `1`, `2`, `3`)
	given := selvage.PublicationDraft{ID: "p-" + selvage.NewID(), Resources: []selvage.ConfigDraft{valued(b, `"new"`), valued(a, `2`)},
		Pins: []selvage.ConfigPin{{ConfigName: c, Version: 2, Hash: k.version(c, 2).Hash}}}
	p := k.publishTogether(given)
	k.isStored("the time of a publication", p.CreatedAt)
	if want := fmt.Sprintf("%s:2 %s:1 %s:2", a.ID, b.ID, c.ID); pinned(p) != want || p.ID != given.ID || p.Number < 1 || p.RestoredFrom != "" {
		k.Errorf("the publication is %s; want the pins %s", encode(k, p), want)
	}
	for _, pin := range p.Pins {
		if v := k.version(pin.ConfigName, pin.Version); v.Hash != pin.Hash {
			k.Errorf("version %d of %s has the hash %s, and the pin says %s", v.Version, pin.ID, v.Hash, pin.Hash)
		}
	}
	got, err := k.publications().Publication(k.Context(), p.ID)
	if err != nil || encode(k, got) != encode(k, p) {
		k.Errorf("the publication is read as %s, error %v; want %s", encode(k, got), err, encode(k, p))
	}
	current := k.publishTogether(selvage.PublicationDraft{Pins: []selvage.ConfigPin{{ConfigName: c}}})
	if pinned(current) != c.ID+":3" || current.ID == "" || current.Number <= p.Number {
		k.Errorf("a publication of what is current is %s", encode(k, current))
	}
}

func publicationAllOrNone(k *kit) {
	a, b, c := trio()
	first := k.publishTogether(selvage.PublicationDraft{ID: "p-" + selvage.NewID(), Resources: []selvage.ConfigDraft{valued(a, `1`)}})
	values := []selvage.ConfigDraft{valued(a, `2`), valued(b, `2`)}
	refused := func(what string, d selvage.PublicationDraft, class error) {
		k.Helper()
		d.Resources = values
		_, err := k.publications().Publish(k.Context(), d)
		k.class("publish together with "+what, err, class)
		if got := k.configHistory(a); got != "1:1" {
			k.Errorf("a refused publication left the history %s", got)
		}
		_, err = k.config().Resource(k.Context(), b)
		k.class("read what was not published", err, selvage.ErrNotFound)
	}
	refused("an id that is taken", selvage.PublicationDraft{ID: first.ID}, selvage.ErrAlreadyExists)
	refused("a pin that is not there", selvage.PublicationDraft{Pins: []selvage.ConfigPin{{ConfigName: c}}}, selvage.ErrNotFound)
	k.publish(c, `1`)
	refused("a version that is not there", selvage.PublicationDraft{Pins: []selvage.ConfigPin{{ConfigName: c, Version: 2}}}, selvage.ErrNotFound)
	refused("another hash", selvage.PublicationDraft{Pins: []selvage.ConfigPin{{ConfigName: c, Version: 1, Hash: selvage.Hash{1}}}}, selvage.ErrInvalid)
	if err := k.config().Archive(k.Context(), c); err != nil {
		k.Fatalf("archive failed: %v", err)
	}
	values = append(values, valued(c, `2`))
	refused("an archived resource", selvage.PublicationDraft{}, selvage.ErrInvalid)
}

func publicationOneID(k *kit) {
	a, _, _ := trio()
	id := "p-" + selvage.NewID()
	errs := together(8, func(i int) error {
		_, err := k.publications().Publish(k.Context(), selvage.PublicationDraft{ID: id, Resources: []selvage.ConfigDraft{valued(a, fmt.Sprint(i))}})
		return err
	})
	won := k.winner("publishing under one id", errs, selvage.ErrAlreadyExists)
	if got := k.configHistory(a); got != fmt.Sprintf("1:%d", won) {
		k.Errorf("writer %d won; the history is %s", won, got)
	}
}

func publicationRollback(k *kit) {
	a, b, c := trio()
	old := k.publishTogether(selvage.PublicationDraft{ID: "p-" + selvage.NewID(),
		Resources: []selvage.ConfigDraft{valued(a, `1`), valued(b, `1`), valued(c, `1`)}})
	k.publishTogether(selvage.PublicationDraft{Resources: []selvage.ConfigDraft{valued(a, `2`), valued(b, `2`)}})
	id := "p-" + selvage.NewID()
	back, err := k.publications().Rollback(k.Context(), id, old.ID)
	if want := fmt.Sprintf("%s:3 %s:3 %s:1", a.ID, b.ID, c.ID); err != nil || pinned(back) != want || back.RestoredFrom != old.ID || back.ID != id {
		k.Fatalf("a rollback answers %s, error %v; want the pins %s", encode(k, back), err, want)
	}
	if v := k.version(a, 0); string(v.Value) != `1` || v.RestoredFrom != 1 {
		k.Errorf("after a rollback a resource is %s", encode(k, v))
	}
	_, err = k.publications().Rollback(k.Context(), id, old.ID)
	k.class("rollback under an id that is taken", err, selvage.ErrAlreadyExists)
	_, err = k.publications().Rollback(k.Context(), "", "p-none")
	k.class("rollback to nothing", err, selvage.ErrNotFound)
	got, err := k.publications().Publication(k.Context(), old.ID)
	if err != nil || encode(k, got) != encode(k, old) {
		k.Errorf("after a rollback the older publication is %s, error %v", encode(k, got), err)
	}
}

func publicationList(k *kit) {
	k = k.alone()
	_, err := k.publications().Publication(k.Context(), "")
	k.class("read the newest of none", err, selvage.ErrNotFound)
	a, _, _ := trio()
	var want []string
	for i := range 5 {
		p := k.publishTogether(selvage.PublicationDraft{Resources: []selvage.ConfigDraft{valued(a, fmt.Sprint(i))}})
		if p.Number != int64(i+1) {
			k.Errorf("publication %d has the number %d", i+1, p.Number)
		}
		want = append(want, p.ID)
	}
	slices.Reverse(want)
	q := selvage.PublicationQuery{Limit: ptr(2)}
	pages := func(c selvage.Cursor) ([]selvage.Publication, selvage.Cursor, error) {
		q.Cursor = c
		page, err := k.publications().List(k.Context(), q)
		return page.Items, page.Next, err
	}
	c := cursor(k, pages)
	k.cursorIsSealed("publications", c, func(c selvage.Cursor) error { _, _, err := pages(c); return err })
	var got []string
	for _, p := range walk(k, pages) {
		got = append(got, p.ID)
	}
	k.equal("publications", got, want)
	newest, err := k.publications().Publication(k.Context(), "")
	if err != nil || newest.ID != want[0] {
		k.Errorf("the newest publication is %q, error %v; want %q", newest.ID, err, want[0])
	}
}

func publicationLimits(k *kit) {
	a, _, _ := trio()
	twice := selvage.PublicationDraft{Resources: []selvage.ConfigDraft{valued(a, `1`)}, Pins: []selvage.ConfigPin{{ConfigName: a}}}
	_, err := k.publications().Publish(k.Context(), twice)
	k.class("publish together what is named twice", err, selvage.ErrInvalid)
	many := selvage.PublicationDraft{Pins: make([]selvage.ConfigPin, selvage.MaxPublication+1)}
	_, err = k.publications().Publish(k.Context(), many)
	k.class("publish too many together", err, selvage.ErrTooLarge)
	_, err = k.publications().Publish(k.Context(), selvage.PublicationDraft{ID: "a/b"})
	k.class("publish under a bad id", err, selvage.ErrInvalid)
	_, err = k.config().Resource(k.Context(), a)
	k.class("read what was not published", err, selvage.ErrNotFound)
}
