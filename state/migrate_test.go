package state_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/selvagehq/selvage/state"
)

// wrapIn returns a migration that makes {name: v} of v.
func wrapIn(t tb, name string) state.MigrateFunc {
	return func(v state.Value) (state.Value, error) { return object(t, name, v), nil }
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	s := specs(t,
		state.Spec{Name: "a/é", Version: 2, Migrations: map[int]state.MigrateFunc{0: wrapIn(t, "one"), 1: wrapIn(t, "two")}},
		state.Spec{Name: "call", Scope: state.ScopeToolCall, Path: "/c", Version: 1, Migrations: map[int]state.MigrateFunc{0: wrapIn(t, "one")}},
		state.Spec{Name: "plain"},
	)
	tests := []struct{ doc, want string }{
		{`{}`, `{"__specs":{"a/é":2,"call":1}}`}, // what is written from now on is of these versions
		{`{"a/é":9007199254740993}`, `{"__specs":{"a/é":2,"call":1},"a/é":{"two":{"one":9007199254740993}}}`},
		{`{"__specs":{"a/é":1,"call":1},"a/é":{"one":1}}`, `{"__specs":{"a/é":2,"call":1},"a/é":{"two":{"one":1}}}`},
		{`{"__specs":{"a/é":0,"call":1.0},"a/é":null}`, `{"__specs":{"a/é":2,"call":1.0},"a/é":{"two":{"one":null}}}`},
		{`{"__specs":{"a/é":2,"call":1},"a/é":1,"plain":1}`, ``},
		{`{"__calls":{"x":{"c":1,"d":1},"y/~":{"c":2},"z":{}},"__specs":{"a/é":2,"gone":7}}`,
			`{"__calls":{"x":{"c":{"one":1},"d":1},"y/~":{"c":{"one":2}},"z":{}},"__specs":{"a/é":2,"call":1,"gone":7}}`},
	}
	for _, tt := range tests {
		t.Run(tt.doc, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, tt.doc)
			p, err := s.Migrate(doc)
			if err != nil || (p == nil) != (tt.want == "") {
				t.Fatalf("Migrate = %v, %v", p, err)
			}
			if p == nil {
				return
			}
			next := apply(t, doc, p)
			if next.String() != tt.want {
				t.Errorf("migrated = %v; want %s", next, tt.want)
			}
			if p, err := s.Migrate(next); p != nil || err != nil {
				t.Errorf("second Migrate = %v, %v", p, err)
			}
		})
	}
}

// Only what a migration changed is in the patch.
func TestMigrateIsMinimal(t *testing.T) {
	t.Parallel()
	s := specs(t, state.Spec{Name: "a", Version: 1, Migrations: map[int]state.MigrateFunc{
		0: func(v state.Value) (state.Value, error) {
			doc, err := state.DocumentOf(v)
			if err != nil {
				return v, err
			}
			doc, err = state.Patch{state.Set("/new", state.Bool(true))}.Apply(doc)
			return doc.Root(), err
		},
	}})
	p, err := s.Migrate(parse(t, `{"a":{"big":"`+strings.Repeat("x", 1000)+`"}}`))
	if want := `[{"op":"set","path":"/a/new","value":true},{"op":"set","path":"/__specs/a","value":1}]`; err != nil || string(p.AppendJSON(nil)) != want {
		t.Errorf("Migrate = %s, %v; want %s", p.AppendJSON(nil), err, want)
	}
}

func TestMigrateFailures(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	s := specs(t, state.Spec{Name: "a", Version: 3, Migrations: map[int]state.MigrateFunc{
		0: func(v state.Value) (state.Value, error) { return v, nil },
		2: func(v state.Value) (state.Value, error) { return v, fmt.Errorf("no: %w", boom) },
	}})
	tests := []struct {
		doc   string
		class error
		text  string
	}{
		{`{"__specs":{"a":4}}`, state.ErrSpecVersion, `"a" is at version 4, this program knows it up to version 3`},
		{`{"__specs":{"a":9223372036854775807},"a":1}`, state.ErrSpecVersion, `version 9223372036854775807`},
		{`{"a":1}`, state.ErrSpecVersion, `no migration from 1 to 2`},
		{`{"__specs":{"a":2},"a":1}`, boom, `migrate state "a" from version 2 to 3: no: boom`},
		{`{"__specs":{"a":"2"}}`, state.ErrTypeMismatch, `/__specs/a is "2", not a version`},
		{`{"__specs":{"a":-1}}`, state.ErrTypeMismatch, `not a version`},
		{`{"__specs":{"a":1e30}}`, state.ErrTypeMismatch, `not a version`},
		{`{"__specs":1}`, state.ErrTypeMismatch, `/__specs is a number`},
	}
	for _, tt := range tests {
		p, err := s.Migrate(parse(t, tt.doc))
		if p != nil || !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: Migrate = %v, %v; want %v with %q", tt.doc, p, err, tt.class, tt.text)
		}
	}
	var newer *state.SpecVersionError
	_, err := s.Migrate(parse(t, `{"__specs":{"a":4}}`))
	if !errors.As(err, &newer) || *newer != (state.SpecVersionError{Name: "a", Stored: 4, Known: 3}) {
		t.Errorf("Migrate = %+v", newer)
	}
	if p, err := (*state.Specs)(nil).Migrate(state.Document{}); p != nil || err != nil {
		t.Errorf("Migrate of a nil set = %v, %v", p, err)
	}
}
