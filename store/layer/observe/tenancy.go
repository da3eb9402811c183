package observe

import "github.com/selvagehq/selvage"

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
