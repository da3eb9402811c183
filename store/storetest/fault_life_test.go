package storetest

import (
	"context"
	"errors"

	"github.com/selvagehq/selvage"
)

func lifeFaults() []fault {
	return []fault{
		{"never closes", func(f *faulty) { f.close = func() error { return nil } }, []string{"Close/EveryMethodIsClosed", "Close/CloseLetsAppendsFinish"}},
		{"says that it is unavailable when it was closed", onAppend(func(next appendFunc) appendFunc {
			return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				r, err := next(ctx, id, set, pre)
				if errors.Is(err, selvage.ErrClosed) {
					err = selvage.ErrUnavailable
				}
				return r, err
			}
		}), []string{"Close/EveryMethodIsClosed", "Close/CloseLetsAppendsFinish"}},
		{"ignores the context", onAppend(func(next appendFunc) appendFunc {
			return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
				return next(context.WithoutCancel(ctx), id, set, pre)
			}
		}), []string{"Close/CancelledContextIsAnswered", "Close/DeadlineIsAnswered"}},
		{"panics", onAppend(func(appendFunc) appendFunc {
			return func(context.Context, selvage.ThreadID, selvage.ChangeSet, selvage.Precondition) (selvage.Receipt, error) {
				panic("out of order")
			}
		}), []string{"Append/CreatesAtVersionOne"}},
	}
}
