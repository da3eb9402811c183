package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// result is what one contestant did on threads of one size. Times are
// medians, in nanoseconds.
type result struct {
	Engine     string        `json:"engine"`
	Name       string        `json:"name"`
	Durability string        `json:"durability"`
	Messages   int           `json:"messages"`
	Turns      int           `json:"turns"`
	Write      time.Duration `json:"write_ns"` // 0: it is not taken apart
	Load       time.Duration `json:"load_ns"`
	Whole      time.Duration `json:"turn_ns"`
	History    time.Duration `json:"history_ns"`
	Stored     float64       `json:"stored_bytes_a_turn"`
	Written    float64       `json:"written_bytes_a_turn"`
}

// result sums up, given what is stored now.
func (k *contestant) result(messages int, stored int64) result {
	return result{
		Engine: k.engine, Name: k.name, Durability: k.durability, Messages: messages, Turns: k.turns,
		Write:   middle(k.took, func(c cost) time.Duration { return c.write }),
		Load:    middle(k.took, func(c cost) time.Duration { return c.load }),
		Whole:   middle(k.took, func(c cost) time.Duration { return c.whole }),
		History: middle(k.histories, func(d time.Duration) time.Duration { return d }),
		Stored:  float64(stored-k.before) / float64(k.turns), Written: float64(k.written) / float64(k.turns),
	}
}

func middle[T any](all []T, of func(T) time.Duration) time.Duration {
	times := make([]time.Duration, len(all))
	for i, v := range all {
		times[i] = of(v)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// report is what a run found.
type report struct {
	Machine  string    `json:"machine"`
	Peer     string    `json:"peer,omitempty"`
	Left     string    `json:"left_out,omitempty"` // why the peer was not measured
	Rounds   int       `json:"rounds"`
	Quick    bool      `json:"quick,omitempty"`
	Rows     []result  `json:"rows"`
	Verdicts []verdict `json:"verdicts"`
}

// verdict compares ours to the peer at the size for which something was
// expected.
type verdict struct {
	Engine string  `json:"engine"`
	Ours   string  `json:"ours"`
	What   string  `json:"what"`
	Times  float64 `json:"times"` // how much more the peer takes
	Want   float64 `json:"want"`
	Pass   bool    `json:"pass"`
}

// What is expected at judged messages: that much less time and bytes a turn.
const (
	judged    = 1000
	lessTime  = 50
	lessBytes = 300
)

func (r *report) judge() {
	for _, pair := range []struct{ engine, ours string }{{"SQLite", selvageName}, {"SQLite", crashSafeName}, {"PostgreSQL", selvageName}} {
		ours, theirs := r.find(pair.engine, pair.ours), r.find(pair.engine, peerName)
		if ours == nil || theirs == nil {
			continue
		}
		for _, v := range []verdict{
			{What: "time to write a turn", Times: float64(theirs.Write) / float64(ours.Write), Want: lessTime},
			{What: "time to load and write a turn", Times: float64(theirs.Load+theirs.Write) / float64(ours.Load+ours.Write), Want: lessTime},
			{What: "bytes stored a turn", Times: theirs.Stored / ours.Stored, Want: lessBytes},
			{What: "bytes written a turn", Times: theirs.Written / ours.Written, Want: lessBytes},
		} {
			v.Engine, v.Ours, v.Pass = pair.engine, pair.ours, v.Times >= v.Want
			r.Verdicts = append(r.Verdicts, v)
		}
	}
}

func (r *report) find(engine, name string) *result {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Engine == engine && row.Name == name && row.Messages == judged {
			return row
		}
	}
	return nil
}

func (r *report) markdown(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s", r.Machine)
	if r.Left != "" {
		p.line("%s", r.Left)
	} else {
		p.line("%s", r.Peer)
	}
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		p.line("\n| %s | messages | write | load | turn | all messages | stored a turn | written a turn | commits |\n|---|---|---|---|---|---|---|---|---|", engine)
		for _, row := range r.Rows {
			if row.Engine == engine {
				p.line("| %s | %d | %s | %s | %s | %s | %s | %s | %s |", row.Name, row.Messages, span(row.Write), span(row.Load), span(row.Whole),
					span(row.History), size(row.Stored), size(row.Written), row.Durability)
			}
		}
	}
	if len(r.Verdicts) > 0 {
		p.line("\n| at %d messages, beside %s | times less | expected | |\n|---|---|---|---|", judged, peerName)
	}
	for _, v := range r.Verdicts {
		verdict := "**fail**"
		if v.Pass {
			verdict = "pass"
		}
		p.line("| %s on %s: %s | %.0f | >= %.0f | %s |", v.Ours, v.Engine, v.What, v.Times, v.Want, verdict)
	}
	return p.err
}

// printer keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f ms", float64(d)/1e6)
}

func size(bytes float64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", bytes/1024)
}
