package observe

import (
	"context"

	"github.com/selvagehq/selvage"
)

// tenancy puts the layer around the store of each tenant. Their calls are
// counted with the store's: a metric of each tenant would grow with their
// number.
type tenancy struct {
	next selvage.Tenancy
	o    *observer
}

func (t tenancy) Tenant(name string) (selvage.Store, error) {
	s, err := t.next.Tenant(name)
	if err != nil {
		return nil, err
	}
	return &Store{next: s, o: t.o}, nil
}

func (t tenancy) Tenants(ctx context.Context, after string) ([]string, error) {
	ctx, c := t.o.begin(ctx, "tenants", "")
	names, err := t.next.Tenants(ctx, after)
	c.end(ctx, err, volume{rows: len(names)})
	return names, err
}
