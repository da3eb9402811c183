package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage/model"
)

// chunks returns the text deltas of an answer, each with the time it came.
func chunks(ctx context.Context, t *testing.T, text string) (got []string, err error) {
	start := time.Now()
	for c, err := range echo(t).Stream(ctx, model.Request{Messages: users(text)}) {
		if err != nil {
			return got, err
		}
		if c.Text != "" {
			got = append(got, fmt.Sprintf("%s@%s", c.Text, time.Since(start)))
		}
	}
	return got, nil
}

func TestPace(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"stream 4":         {"1 @0s", "2 @50ms", "3 @100ms", "4@150ms"},
		"say it  slowly\n": {"You @0s", "said: @0s", "say @0s", "it  @0s", "slowly\n@0s"},
		"sleep 1m30s":      {"Slept @1m30s", "1m30s.@1m30s"},
		"remember me":      {"I @0s", "will @0s", "remember: @0s", "me@0s"},
		"fail cut":         {"You @0s", "said: @0s"},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got, _ := chunks(t.Context(), t, text) // fail cut ends in its error
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("chunks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A deadline in the middle of waiting ends the answer at that very moment.
func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"stream 100": "1 2 3 ", "sleep 1h": ""} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
				defer cancel()
				got, err := model.Collect(echo(t).Stream(ctx, model.Request{Messages: users(text)}))
				if model.ClassOf(err) != model.Cancelled || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want cancelled by the deadline", err)
				}
				if took := time.Since(start); took != 120*time.Millisecond {
					t.Errorf("it took %s, want 120ms", took)
				}
				if kept := got.Message.Text(); kept != want {
					t.Errorf("kept %q, want %q", kept, want)
				}
			})
		})
	}
}

func TestALongStreamIsWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got, err := chunks(t.Context(), t, "stream 1000")
		if err != nil || len(got) != 1000 || !strings.HasPrefix(got[999], "1000@") {
			t.Errorf("%d chunks, error %v; want 1000", len(got), err)
		}
		if took := time.Since(start); took != 999*50*time.Millisecond {
			t.Errorf("it took %s, want 999 times 50ms", took)
		}
	})
}
