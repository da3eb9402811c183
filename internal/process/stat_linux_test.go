package process

import "testing"

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 7 0 4711 20 21"
	for _, name := range []string{"(go)", "(a b)", "(a) S (b)", "())"} {
		got, err := parseStat("42 " + name + rest)
		if want := (stat{"S", 7, 4711}); err != nil || got != want {
			t.Errorf("name %s: got %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, line := range []string{"", "42", "42 (go", "42 (go) S 1", "42 (go) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 x 0 4711", "42 (go) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 0 x"} {
		if got, err := parseStat(line); err == nil {
			t.Errorf("%q: got %+v, want an error", line, got)
		}
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		stat stat
		want bool
	}{
		{stat{state: "S", threads: 1}, false},
		{stat{state: "Z", threads: 1}, true},
		{stat{state: "X", threads: 0}, true},
		{stat{state: "Z", threads: 2}, false}, // its first thread ended, another goes on
	}
	for _, tt := range tests {
		if got := tt.stat.ended(); got != tt.want {
			t.Errorf("%+v ended: got %v, want %v", tt.stat, got, tt.want)
		}
	}
}
