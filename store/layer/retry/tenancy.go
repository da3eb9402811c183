package retry

import (
	"context"

	"github.com/selvagehq/selvage"
)

// tenancy puts the layer around the store of each tenant.
type tenancy struct {
	next selvage.Tenancy
	opts Options
}

func (t tenancy) Tenant(name string) (selvage.Store, error) {
	s, err := t.next.Tenant(name)
	if err != nil {
		return nil, err
	}
	return &Store{next: s, opts: t.opts}, nil
}

func (t tenancy) Tenants(ctx context.Context, after string) ([]string, error) {
	return again(ctx, t.opts, func(ctx context.Context) ([]string, error) { return t.next.Tenants(ctx, after) })
}
