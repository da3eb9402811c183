package selvage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestCheckID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in string
		ok bool
	}{
		{"t1", true}, {"Zürich 42", true}, {"a.b_c:d@e", true}, {"...", true}, {strings.Repeat("x", 200), true},
		{"", false}, {strings.Repeat("x", 201), false}, {".", false}, {"..", false}, {"-rf", false},
		{"a/b", false}, {`a\b`, false}, {"a\x00b", false}, {"a\nb", false}, {"a\u0085b", false}, {"a\xffb", false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%.20q", tt.in), func(t *testing.T) {
			t.Parallel()
			if err := CheckID("thread", tt.in); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("CheckID(%q) = %v, want ok %v", tt.in, err, tt.ok)
			}
		})
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	before := time.Now().UnixMilli()
	a, b := NewID(), NewID()
	after := time.Now().UnixMilli()
	for _, id := range []string{a, b, MessageID(a, 3, time.Now())} {
		if !form.MatchString(id) {
			t.Errorf("%q is not a UUIDv7", id)
		}
	}
	var ms int64
	if _, err := fmt.Sscanf(strings.ReplaceAll(a, "-", "")[:12], "%x", &ms); err != nil || ms < before || ms > after {
		t.Errorf("%q carries the time %d, want %d..%d (%v)", a, ms, before, after, err)
	}
	if a == b || MessageID(a, 0, time.Now()) == MessageID(b, 0, time.Now()) {
		t.Error("two ids are equal")
	}
}

func TestParseMoney(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want Money
		out  string // "": must fail
	}{
		{"0", 0, "0"}, {"1", Dollar, "1"}, {"0.50", Dollar / 2, "0.5"}, {"-0.000000001", -1, "-0.000000001"},
		{"12.000012", 12*Dollar + 12_000, "12.000012"}, {"9223372036.854775807", 1<<63 - 1, "9223372036.854775807"},
		{"", 0, ""}, {".5", 0, ""}, {"1.", 0, ""}, {"1e3", 0, ""}, {"+1", 0, ""}, {"--1", 0, ""}, {"1.0000000001", 0, ""},
		{"9223372036.854775808", 0, ""}, {"0x1", 0, ""}, {"1_0", 0, ""}, {"1 ", 0, ""},
	}
	for _, tt := range tests {
		got, err := ParseMoney(tt.in)
		if got != tt.want || (err == nil) != (tt.out != "") {
			t.Errorf("ParseMoney(%q) = %d, %v; want %d", tt.in, got, err, tt.want)
		}
		if err == nil && got.String() != tt.out {
			t.Errorf("ParseMoney(%q).String() = %q, want %q", tt.in, got, tt.out)
		}
	}
	if got := Money(-1 << 63).String(); got != "-9223372036.854775808" {
		t.Errorf("the least amount is %s", got)
	}
}

// TestRunMachine tries every pair of statuses.
func TestRunMachine(t *testing.T) {
	t.Parallel()
	all := []RunStatus{"", RunCreated, RunRunning, RunWaiting, RunDone}
	allowed := map[RunStatus][]RunStatus{
		"":         {RunCreated, RunRunning},
		RunCreated: {RunCreated, RunRunning, RunDone},
		RunRunning: {RunRunning, RunWaiting, RunDone},
		RunWaiting: {RunWaiting, RunRunning, RunDone},
		RunDone:    {},
	}
	for _, from := range all {
		for _, to := range all[1:] {
			want := strings.Contains(fmt.Sprint(allowed[from]), string(to))
			if got := from.CanBecome(to); got != want {
				t.Errorf("%q may become %q: %v, want %v", from, to, got, want)
			}
			var run *Run
			if from != "" {
				run = &Run{ID: "r", Status: from}
			}
			if _, err := (&RunUpdate{ID: "r", Status: to}).Apply(run, "t", time.Now()); (err == nil) != want {
				t.Errorf("Apply from %q to %q: %v", from, to, err)
			}
		}
	}
}

func TestRunUpdateKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	start, later := time.UnixMilli(1000), time.UnixMilli(2000)
	run, err := (&RunUpdate{ID: "r", AgentID: "a", Status: RunRunning, Usage: &Usage{InputTokens: 3}, Cost: new(Dollar)}).Apply(nil, "t", start)
	if err != nil {
		t.Fatal(err)
	}
	done, err := (&RunUpdate{ID: "r", AgentID: "other", Status: RunDone, Outcome: &Outcome{Kind: OutcomeCompleted}, Steps: new(2)}).Apply(run, "t", later)
	if err != nil {
		t.Fatal(err)
	}
	if done.AgentID != "a" || done.Usage.InputTokens != 3 || done.Cost != Dollar || done.Steps != 2 ||
		!done.StartedAt.Equal(start) || !done.FinishedAt.Equal(later) || run.Status != RunRunning {
		t.Errorf("run = %+v", done)
	}
}

func TestTerminalCallsNeverReopen(t *testing.T) {
	t.Parallel()
	for _, s := range []CallStatus{CallSucceeded, CallFailed, CallCancelled} {
		if _, err := (&CallUpdate{CallID: "c", Status: CallStarted}).Apply(&Call{ID: "c", Status: s}, "t", "r", time.Now()); !errors.Is(err, ErrInvalid) {
			t.Errorf("a %s call started again: %v", s, err)
		}
	}
	if _, err := (&CallUpdate{CallID: "c", Status: "odd"}).Apply(nil, "t", "r", time.Now()); !errors.Is(err, ErrInvalid) {
		t.Errorf("an odd status: %v", err)
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&ConflictError{Thread: "t", Expected: 1, Actual: 2}, "conflict"},
		{fmt.Errorf("append: %w", &InvalidError{Field: "f", Reason: "r"}), "invalid"},
		{&FencedError{}, "fenced"}, {&BusyError{}, "busy"}, {ErrUnknownOutcome, "unknown_outcome"}, {ErrGone, "gone"},
		{context.Canceled, "cancelled"}, {context.DeadlineExceeded, "timeout"}, {errors.New("odd"), "internal"},
		// A context error that carries a class is told by its class.
		{errors.Join(context.Canceled, ErrUnknownOutcome), "unknown_outcome"},
	}
	for _, tt := range tests {
		if got := Code(tt.err); got != tt.want {
			t.Errorf("Code(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestContentFromString(t *testing.T) {
	t.Parallel()
	var m Message
	if err := json.Unmarshal([]byte(`{"role":"user","content":"hi"}`), &m); err != nil || m.Text() != "hi" {
		t.Errorf("a plain string gives %+v, %v", m, err)
	}
	if err := json.Unmarshal([]byte(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"reasoning","text":"x"},{"type":"text","text":"b"}]}`), &m); err != nil || m.Text() != "ab" {
		t.Errorf("parts give %+v, %v", m, err)
	}
	if err := json.Unmarshal([]byte(`{"role":"user","content":[{"type":"text","txt":"a"}]}`), &m); err == nil {
		t.Error("an unknown field of a part was accepted")
	}
}

type layer struct{ Store }

func (l layer) Unwrap() Store { return l.Store }

type wall struct{ Store }

func (wall) Capability(any) bool { return false }

type leaser struct {
	Store
	Leaser
}

func TestAs(t *testing.T) {
	t.Parallel()
	base := leaser{}
	if _, ok := As[Leaser](layer{layer{base}}); !ok {
		t.Error("a capability was lost behind two layers")
	}
	if _, ok := As[Leaser](layer{wall{base}}); ok {
		t.Error("a capability was found behind a layer without Unwrap")
	}
	if _, ok := As[Leaser](wall{base}); ok {
		t.Error("a layer that denies a capability was overruled")
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	var p Position
	if err := p.UnmarshalText([]byte("12.3")); err != nil || p != (Position{12, 3}) || p.String() != "12.3" {
		t.Errorf("position = %v, %v", p, err)
	}
	for _, bad := range []string{"", "1", "1.", ".1", "-1.0", "1.-1", "1.1.1", "a.b"} {
		if err := p.UnmarshalText([]byte(bad)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", bad, err)
		}
	}
}

func TestPageLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   *int
		want int
		ok   bool
	}{{nil, 50, true}, {new(0), 0, true}, {new(7), 7, true}, {new(10_000), 200, true}, {new(-1), 0, false}} {
		if got, err := PageLimit(tt.in); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("PageLimit(%v) = %d, %v", tt.in, got, err)
		}
	}
}
