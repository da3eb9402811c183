package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestQuick runs the whole comparison in small, with LangGraph.js where it is
// installed, and looks at what it says, not at how fast it was.
func TestQuick(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-json", "-sizes", "10,60", "-dir", t.TempDir(), "-langgraph", "langgraph"}, &out, os.Stderr); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("it printed no report: %v\n%s", err, out.String())
	}
	want := 2 * 7
	if r.Left == "" {
		want = 2 * 12
	} else if !strings.Contains(r.Left, "was not measured") {
		t.Errorf("the peer was left out: %s", r.Left)
	}
	if len(r.Rows) != want {
		t.Errorf("%d rows; want %d", len(r.Rows), want)
	}
	for _, row := range r.Rows {
		if row.Turns == 0 || row.Whole <= 0 || row.History <= 0 || row.Written <= 0 || row.Durability == "" {
			t.Errorf("row %+v measured nothing", row)
		}
	}
	var b strings.Builder
	if err := r.markdown(&b); err != nil || !strings.Contains(b.String(), "| Selvage | 10 | ") {
		t.Errorf("it prints %v\n%s", err, b.String())
	}
}

func TestSizesAreChecked(t *testing.T) {
	t.Parallel()
	for _, sizes := range []string{"", "0", "11", "ten", "-2"} {
		if err := run(t.Context(), []string{"-sizes", sizes}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("-sizes %q was taken", sizes)
		}
	}
}

// What is said is as long as it should be, the same for all, and never the
// same twice.
func TestSpeaker(t *testing.T) {
	t.Parallel()
	a, b := newSpeaker(7).turns(50), newSpeaker(7).turns(50)
	seen := make(map[string]bool)
	for i, said := range a {
		if said != b[i] {
			t.Fatal("two speakers of one seed say different things")
		}
		for _, text := range said {
			if len(text) != messageSize || seen[text] {
				t.Errorf("a message of %d bytes, said before: %v", len(text), seen[text])
			}
			seen[text] = true
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	r := report{Rows: []result{
		{Engine: "SQLite", Name: selvageName, Messages: judged, Write: 1, Load: 1, Stored: 1, Written: 1},
		{Engine: "SQLite", Name: peerName, Messages: judged, Write: 50, Load: 49, Stored: 300, Written: 299},
		{Engine: "PostgreSQL", Name: selvageName, Messages: judged},
	}}
	r.judge()
	if len(r.Verdicts) != 4 {
		t.Fatalf("%d verdicts; want 4: %+v", len(r.Verdicts), r.Verdicts)
	}
	for i, pass := range []bool{true, false, true, false} {
		if r.Verdicts[i].Pass != pass {
			t.Errorf("%+v; want pass %v", r.Verdicts[i], pass)
		}
	}
}
