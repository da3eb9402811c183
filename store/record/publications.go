package record

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/selvagehq/selvage"
)

// The spaces of publications: by number, and the numbers by id.
const (
	publicationSpace   = "config.publication"
	publicationIDSpace = "config.publication.id"
)

// publications is the [selvage.Publications] of a keeper.
type publications struct{ k *Keeper }

// publicationRow is a publication as it is kept; its number is its key.
type publicationRow struct {
	ID       string              `json:"id"`
	Pins     []selvage.ConfigPin `json:"pins"`
	Restored string              `json:"restored_from,omitempty"`
	Created  time.Time           `json:"created"`
	Token    string              `json:"token"` // of the call that made it
}

func (r *publicationRow) publication(n int64) selvage.Publication {
	return selvage.Publication{ID: r.ID, Number: n, Pins: r.Pins, RestoredFrom: r.Restored, CreatedAt: r.Created}
}

// numberRow is the number of a publication.
type numberRow struct {
	Number int64 `json:"number"`
}

// loadPublication reads a publication by its id, the newest for "". One that is
// not there has no number.
func loadPublication(tx Tx, id string) (n int64, row publicationRow, err error) {
	in := Range{Reverse: true, Limit: 1}
	if id != "" {
		var at numberRow
		_, exists, err := load(tx, publicationIDSpace, keyOf(id), &at)
		if err != nil || !exists {
			return 0, row, err
		}
		in = One(number(nil, at.Number))
	}
	rows, err := tx.Scan(publicationSpace, in)
	if err != nil || len(rows) == 0 && id == "" {
		return 0, row, err
	}
	if len(rows) == 0 {
		return 0, row, fmt.Errorf("publication %q is missing: %w", id, selvage.ErrCorrupt)
	}
	_, err = decode(publicationSpace, rows[0].Value, &row)
	return lastNumber(rows[0].Key), row, err
}

// binding is a publication in the making.
type binding struct {
	id, restored, token string
	pins                []selvage.ConfigPin
}

// bind writes the publication.
func (b *binding) bind(tx Tx) (out selvage.Publication, err error) {
	last, _, err := loadPublication(tx, "")
	if err != nil {
		return out, err
	}
	slices.SortFunc(b.pins, func(x, y selvage.ConfigPin) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID)) })
	row := publicationRow{b.id, b.pins, b.restored, tx.Now(), b.token}
	for _, pin := range b.pins {
		if err := save(tx, pinSpace, Row{Key: number(configKey(pin.ConfigName), int64(pin.Version))}, struct{}{}); err != nil {
			return out, err
		}
	}
	if err := save(tx, publicationIDSpace, Row{Key: keyOf(b.id)}, &numberRow{last + 1}); err != nil {
		return out, err
	}
	return row.publication(last + 1), save(tx, publicationSpace, Row{Key: number(nil, last+1)}, &row)
}

// under runs a write that binds something under an id, unless that is taken.
func (p publications) under(ctx context.Context, id string, write func(tx Tx, b *binding) error) (out selvage.Publication, err error) {
	if id != "" {
		if err := checkName("publication", id); err != nil {
			return out, err
		}
	}
	token := rand.Text()
	err = p.k.update(ctx, configTopic, func(tx Tx, _ bool) error {
		if id == "" {
			id = p.k.ids.next(tx.Now())
		}
		n, have, err := loadPublication(tx, id)
		switch {
		case err != nil:
			return err
		case n != 0 && have.Token == token:
			out = have.publication(n) // this very call made it
			return nil
		case n != 0:
			return fmt.Errorf("publication %q is there already: %w", id, selvage.ErrAlreadyExists)
		}
		b := &binding{id: id, token: token, pins: []selvage.ConfigPin{}}
		if err := write(tx, b); err != nil {
			return err
		}
		out, err = b.bind(tx)
		return err
	})
	return out, err
}

// Publish implements [selvage.Publications].
func (p publications) Publish(ctx context.Context, d selvage.PublicationDraft) (selvage.Publication, error) {
	out, err := p.publish(ctx, d)
	if err != nil {
		return selvage.Publication{}, fmt.Errorf("publish together: %w", err)
	}
	return out, nil
}

func (p publications) publish(ctx context.Context, d selvage.PublicationDraft) (out selvage.Publication, err error) {
	hashes, err := checkPublication(&d)
	if err != nil {
		return out, err
	}
	return p.under(ctx, d.ID, func(tx Tx, b *binding) error {
		for i, r := range d.Resources {
			one := publishing{r, hashes[i], 0, selvage.Any(), b.token}
			v, err := one.publish(tx)
			if err != nil {
				return err
			}
			b.pins = append(b.pins, pinOf(v))
		}
		for _, pin := range d.Pins {
			v, err := loadVersion(tx, pin.ConfigName, pin.Version)
			if err != nil {
				return err
			}
			if !pin.Hash.IsZero() && pin.Hash != v.Hash {
				return invalid("pins", "version %d of %s has another hash than the pin says", v.Version, configName(pin.ConfigName))
			}
			b.pins = append(b.pins, pinOf(v))
		}
		return nil
	})
}

func pinOf(v selvage.ConfigVersion) selvage.ConfigPin {
	return selvage.ConfigPin{ConfigName: v.ConfigName, Version: v.Version, Hash: v.Hash}
}

// checkPublication checks what can be checked without the registry, and returns
// the hashes of the values.
func checkPublication(d *selvage.PublicationDraft) (hashes []selvage.Hash, err error) {
	if n := len(d.Resources) + len(d.Pins); n > selvage.MaxPublication {
		return nil, fmt.Errorf("%d resources and pins are more than the %d of one publication: %w", n, selvage.MaxPublication, selvage.ErrTooLarge)
	}
	seen, total := make(map[selvage.ConfigName]bool), 0
	once := func(n selvage.ConfigName) error {
		if seen[n] {
			return invalid("publication", "%s is named twice", configName(n))
		}
		seen[n] = true
		return nil
	}
	for i := range d.Resources {
		r := &d.Resources[i]
		hash, err := checkDraft(r, selvage.Any())
		if err == nil {
			err = once(r.ConfigName)
		}
		if err != nil {
			return nil, fmt.Errorf("resources[%d]: %w", i, err)
		}
		hashes, total = append(hashes, hash), total+len(r.Value)
	}
	for i, pin := range d.Pins {
		err := checkConfigName(pin.ConfigName)
		if err == nil && pin.Version < 0 {
			err = invalid("version", "versions count from 1, and %d is none", pin.Version)
		}
		if err == nil {
			err = once(pin.ConfigName)
		}
		if err != nil {
			return nil, fmt.Errorf("pins[%d]: %w", i, err)
		}
	}
	if total > selvage.MaxSetBytes {
		return nil, tooLarge("the publication", total, selvage.MaxSetBytes)
	}
	return hashes, nil
}

// Rollback implements [selvage.Publications].
func (p publications) Rollback(ctx context.Context, id, to string) (out selvage.Publication, err error) {
	if err = checkName("publication", to); err == nil {
		out, err = p.under(ctx, id, func(tx Tx, b *binding) error { return b.rollback(tx, to) })
	}
	if err != nil {
		return selvage.Publication{}, fmt.Errorf("roll back to publication %q: %w", to, err)
	}
	return out, nil
}

func (b *binding) rollback(tx Tx, to string) error {
	n, older, err := loadPublication(tx, to)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("publication %q: %w", to, selvage.ErrNotFound)
	}
	b.restored = to
	for _, pin := range older.Pins {
		v, err := restore(tx, pin.ConfigName, pin.Version, selvage.Any(), b.token)
		if err != nil {
			return err
		}
		b.pins = append(b.pins, pinOf(v))
	}
	return nil
}

// Publication implements [selvage.Publications].
func (p publications) Publication(ctx context.Context, id string) (out selvage.Publication, err error) {
	if id != "" {
		err = checkName("publication", id)
	}
	if err == nil {
		err = p.k.engine.View(ctx, func(tx Tx) error {
			n, row, err := loadPublication(tx, id)
			if err == nil && n == 0 {
				err = fmt.Errorf("publication %q: %w", id, selvage.ErrNotFound)
			}
			out = row.publication(n)
			return err
		})
	}
	if err != nil {
		return selvage.Publication{}, fmt.Errorf("read a publication: %w", err)
	}
	return out, nil
}

// List implements [selvage.Publications].
func (p publications) List(ctx context.Context, q selvage.PublicationQuery) (selvage.PublicationPage, error) {
	page, err := p.list(ctx, q)
	if err != nil {
		return selvage.PublicationPage{}, fmt.Errorf("list publications: %w", err)
	}
	return page, nil
}

func (p publications) list(ctx context.Context, q selvage.PublicationQuery) (page selvage.PublicationPage, err error) {
	limit, err := selvage.PageLimit(q.Limit)
	if err != nil {
		return page, err
	}
	shape := configShape{List: publicationSpace}
	in, err := p.k.place(Range{Reverse: true}, q.Cursor, shape)
	if err != nil {
		return page, err
	}
	l := list[selvage.Publication]{publicationSpace, in, func(r Row) (selvage.Publication, bool, error) {
		var row publicationRow
		_, err := decode(publicationSpace, r.Value, &row)
		return row.publication(lastNumber(r.Key)), true, err
	}}
	page.Items, page.Next, err = l.page(ctx, p.k, limit, shape)
	return page, err
}
