package stores

import (
	"context"
	"fmt"

	"github.com/selvagehq/selvage"
)

func openSQLite(_ context.Context, path string) (selvage.Store, error) {
	return nil, fmt.Errorf("open %s: %w", path, selvage.ErrUnsupported)
}
