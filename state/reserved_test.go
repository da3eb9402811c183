package state_test

import (
	"errors"
	"testing"

	"github.com/selvagehq/selvage/state"
)

func TestCheckReserved(t *testing.T) {
	t.Parallel()
	object := func(text string) state.Value {
		v, err := state.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const own = "/__calls/c1"
	for name, tt := range map[string]struct {
		op state.Op
		ok bool
	}{
		"a key of the user":                {state.Set("/plan", state.Int(1)), true},
		"a key that begins like one":       {state.Set("/__running", state.Int(1)), true},
		"a reserved name below another":    {state.Set("/plan/__run", state.Int(1)), true},
		"the own call":                     {state.Set("/__calls/c1/tries", state.Int(1)), true},
		"another call":                     {state.Set("/__calls/c10/tries", state.Int(1)), false},
		"all calls":                        {state.Delete("/__calls"), false},
		"the run":                          {state.Set("/__run", state.Int(1)), false},
		"below the run":                    {state.Delete("/__run/cancel"), false},
		"the whole document":               {state.Set("", object(`{}`)), false},
		"without the whole document":       {state.Delete(""), false},
		"into the root":                    {state.Merge("", object(`{"plan":1}`)), true},
		"into the root, and a reserved":    {state.Merge("", object(`{"plan":1,"__budgets":{}}`)), false},
		"an element of what is not theirs": {state.Insert("/__context/0", state.Int(1)), false},
	} {
		err := state.Patch{state.Set("/first", state.Int(0)), tt.op}.CheckReserved(own)
		var op *state.OpError
		if tt.ok != (err == nil) || err != nil && (!errors.Is(err, state.ErrReserved) || !errors.As(err, &op) || op.Index != 1) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (state.Patch{state.Set("/__calls/c1", state.Int(1))}).CheckReserved(""); err == nil {
		t.Error("without an own place everything under a reserved key is refused")
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	doc, err := state.Parse([]byte(`{"__budgets":{},"__calls":{},"__context":{},"__run":{},"__runs":1,"__specs":{},"plan":{"__run":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Own().String(); got != `{"__runs":1,"plan":{"__run":2}}` {
		t.Errorf("Own() = %s", got)
	}
}
