package soak

import "testing"

func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		set         string
		want, seeds int
	}{{"", 7, 0}, {"1", 7, 0}, {"20", 140, 19}, {"0", 7, 0}, {"-3", 7, 0}, {"many", 7, 0}} {
		t.Setenv(Environment, tt.set)
		if got := Times(7); got != tt.want || len(Seeds()) != tt.seeds {
			t.Errorf("%s=%q: Times(7) = %d, %d seeds; want %d, %d", Environment, tt.set, got, len(Seeds()), tt.want, tt.seeds)
		}
	}
}
