package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/commit"
)

// carry brings the blobs that a change refers to before the change itself, so
// that it refers to them there, too. One that is in neither store stays away.
func carry(ctx context.Context, from, to selvage.Store, c *selvage.Change) error {
	ids, err := commit.BlobsOf(c)
	if err != nil || len(ids) == 0 {
		return err
	}
	source, has := selvage.As[selvage.Blobs](from)
	target, takes := selvage.As[selvage.Blobs](to)
	if !has || !takes {
		return fmt.Errorf("version %d refers to blobs, and one of the stores keeps none: %w", c.Version, selvage.ErrUnsupported)
	}
	for _, h := range ids {
		if err := carryOne(ctx, source, target, selvage.BlobScheme+h.String()); err != nil {
			return err
		}
	}
	return nil
}

func carryOne(ctx context.Context, source, target selvage.Blobs, id string) error {
	if _, err := target.Stat(ctx, id); !errors.Is(err, selvage.ErrNotFound) {
		return err
	}
	content, err := source.Open(ctx, id)
	if errors.Is(err, selvage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = target.Put(ctx, content)
	return errors.Join(err, content.Close())
}
