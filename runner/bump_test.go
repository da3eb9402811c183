package runner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

func TestParseBump(t *testing.T) {
	t.Parallel()
	good := map[string]runner.Bump{
		"turns=+10":              {Limit: "turns", By: true, Amount: 10},
		"turns=40":               {Limit: "turns", Amount: 40},
		"tokens=+1000":           {Limit: "tokens", By: true, Amount: 1000},
		"spend=+0.50":            {Limit: "spend", By: true, Amount: 500_000_000},
		"spend=+0.000000001":     {Limit: "spend", By: true, Amount: 1},
		"duration=+5m":           {Limit: "duration", By: true, Amount: int64(5 * time.Minute)},
		"spawns=+2":              {Limit: "spawns", By: true, Amount: 2},
		" depth = +1 ":           {Limit: "depth", By: true, Amount: 1},
		"tokens=+99999999999999": {Limit: "tokens", By: true, Amount: 99999999999999},
	}
	for text, want := range good {
		if got, err := runner.ParseBump(text); got != want || err != nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	bad := map[string]string{
		"":                   "say which limit",
		"turns":              "say which limit",
		"turn=+1":            `"turn" is not a limit; there are turns, tokens`,
		"turns=":             `"" is not a whole number`,
		"turns=+1.5":         `"1.5" is not a whole number`,
		"turns=-1":           "a limit is only raised",
		"turns=+-1":          "a limit is only raised",
		"turns=+0":           "a limit is only raised",
		"turns=++1":          `"+1" is not an amount`,
		"spend=+1e3":         "not an amount of dollars",
		"spend=0.0000000001": "not an amount of dollars",
		"duration=5":         "not a duration",
	}
	for text, want := range bad {
		_, err := runner.ParseBump(text)
		if !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want ... %s", text, err, want)
		}
	}
}
