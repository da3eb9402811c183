package yardstick

import (
	"errors"
	"testing"
	"time"
)

func TestBodyIsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, size := range []int{MinSize, 1 << 10, 4 << 10} {
		if data, err := Body(size); err != nil || len(data) != size {
			t.Errorf("a body of %d bytes has %d, %v", size, len(data), err)
		}
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	var s Sample
	if s.Rate() != 0 || s.Quantile(0.5) != 0 {
		t.Errorf("a sample of nothing has a rate of %v and a median of %v", s.Rate(), s.Quantile(0.5))
	}
	s.add([]time.Duration{3, 1, 2, 5, 4}, time.Second)
	if s.Ops() != 5 || s.Rate() != 5 || s.Quantile(0.5) != 3 || s.Quantile(0.99) != 5 || s.Quantile(1) != 5 {
		t.Errorf("it counts %d at %v a second, median %v, p99 %v", s.Ops(), s.Rate(), s.Quantile(0.5), s.Quantile(0.99))
	}
	broken := errors.New("broken")
	if err := s.Run(3, func() error { return broken }); !errors.Is(err, broken) || s.Ops() != 5 {
		t.Errorf("a run that fails answers %v and counts %d operations", err, s.Ops()-5)
	}
}

func TestSQLiteKeepsEveryRow(t *testing.T) {
	t.Parallel()
	ref, err := OpenSQLite(t.Context(), t.TempDir()+"/raw.db", "OFF", 2)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("{}")
	for thread := range 2 {
		if err := ref.Put(t.Context(), thread, body); err != nil {
			t.Error(err)
		}
	}
	if err := ref.PutAll(t.Context(), 4, body); err != nil {
		t.Error(err)
	}
	if ref.versions[0] != 3 || ref.versions[1] != 3 {
		t.Errorf("the threads are at %v; want 3 and 3", ref.versions)
	}
	if err := ref.Close(); err != nil {
		t.Error(err)
	}
}
