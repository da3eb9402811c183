package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

type tenantFunc = func(name string) (selvage.Store, error)

func onTenant(wrap func(f *faulty, next tenantFunc) tenantFunc) func(*faulty) {
	return func(f *faulty) { f.tenant = wrap(f, f.tenant) }
}

// renamed plants a fault in what is taken for the name of a tenant.
func renamed(change func(string) string) func(*faulty) {
	return onTenant(func(_ *faulty, next tenantFunc) tenantFunc {
		return func(name string) (selvage.Store, error) { return next(change(name)) }
	})
}

// scope is a tenant's store with a fault in it.
type scope struct{ *faulty }

func (s scope) Capability(target any) bool {
	if l, ok := target.(*selvage.Leaser); ok {
		*l = s.faulty
		return true
	}
	return false
}

// inTenant plants a fault in the stores of tenants.
func inTenant(plant func(root, f *faulty)) func(*faulty) {
	return onTenant(func(root *faulty, next tenantFunc) tenantFunc {
		return func(name string) (selvage.Store, error) {
			s, err := next(name)
			if err != nil {
				return nil, err
			}
			f := flawless(s.(sound))
			plant(root, f)
			return scope{f}, nil
		}
	})
}

func tenancyFaults() []fault {
	return []fault{
		{"has one tenant only", onTenant(func(f *faulty, _ tenantFunc) tenantFunc {
			return func(string) (selvage.Store, error) { return f, nil }
		}), []string{"Tenancy/ScopeIsAStore", "Tenancy/ThreadsNameTheirTenant", "Tenancy/SameIDsStayApart", "Tenancy/NothingOfTheOther",
			"Tenancy/NamesAreNotPatterns", "Tenancy/BadNames", "Tenancy/ParentsDoNotCross", "Tenancy/LeasesDoNotCross", "Tenancy/DeletesDoNotCross",
			"Tenancy/CursorsDoNotCross", "Tenancy/StatesDoNotCross", "Tenancy/TenantsTakeNoTurns", "Tenancy/CloseOneTenant"}},
		{"folds the case of tenants", renamed(strings.ToLower), []string{"Tenancy/SameIDsStayApart", "Tenancy/NamesAreNotPatterns"}},
		{"trims the names of tenants", renamed(strings.TrimSpace), []string{"Tenancy/NamesAreNotPatterns"}},
		{"cuts the names of tenants", renamed(func(s string) string { return s[:min(len(s), 199)] }), []string{"Tenancy/NamesAreNotPatterns"}},
		{"leases for all tenants", inTenant(func(root, f *faulty) { f.acquire, f.renew, f.release = root.acquire, root.renew, root.release }),
			[]string{"Tenancy/LeasesDoNotCross"}},
		{"lists the runs of no tenant", inTenant(func(root, f *faulty) { f.runs = root.runs }), []string{"Tenancy/NothingOfTheOther"}},
		{"keeps states by thread alone", inTenant(func(root, f *faulty) { f.state = root.state }), []string{"Tenancy/StatesDoNotCross"}},
		{"takes the cursors of others", inTenant(takeAnyCursor), []string{"Tenancy/CursorsDoNotCross"}},
		{"deletes for all tenants", inTenant(func(root, f *faulty) {
			sound := f.delete
			f.delete = func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
				for _, name := range []string{"acme", "other"} {
					if s, err := root.sound.Tenant(name); err == nil {
						_ = s.Delete(ctx, id, strategy)
					}
				}
				_ = sound(ctx, id, strategy)
				return nil
			}
		}), []string{"Tenancy/DeletesDoNotCross", "Tenancy/NothingOfTheOther"}},
		{"closes all with one tenant", inTenant(func(root, f *faulty) { f.close = root.close }), []string{"Tenancy/CloseOneTenant"}},
		{"raises the epoch of all namesakes", inTenant(func(root, f *faulty) {
			next := f.acquire
			f.acquire = func(ctx context.Context, id selvage.ThreadID, o selvage.Owner, ttl time.Duration) (selvage.Lease, error) {
				for _, name := range []string{"acme", "other"} {
					if s, err := root.sound.Tenant(name); err == nil {
						if l, err := s.(sound).Acquire(ctx, id, o, ttl); err == nil {
							_ = s.(sound).Release(ctx, l)
						}
					}
				}
				return next(ctx, id, o, ttl)
			}
		}), []string{"Tenancy/LeasesDoNotCross"}},
	}
}

func takeAnyCursor(_, f *faulty) {
	next := f.threads
	f.threads = func(ctx context.Context, q selvage.ThreadQuery) (selvage.ThreadPage, error) {
		page, err := next(ctx, q)
		if err != nil && q.Cursor != "" {
			q.Cursor = ""
			return next(ctx, q)
		}
		return page, err
	}
}
