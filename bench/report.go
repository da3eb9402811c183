package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/selvagehq/selvage/internal/yardstick"
)

// gate is one thing that was promised, and what was measured.
type gate struct {
	Name      string  `json:"name"`
	Must      string  `json:"must"`
	Aim       string  `json:"aim,omitempty"`
	Measured  float64 `json:"measured"` // the ratio, or the count
	Pass      bool    `json:"pass"`
	Left      string  `json:"left_out,omitempty"` // why it was not measured
	Ours      string  `json:"ours"`
	Reference string  `json:"reference"`
	Note      string  `json:"note,omitempty"`
}

// report is what a run of the benchmark found.
type report struct {
	Machine string `json:"machine"`
	Rounds  int    `json:"rounds"`
	Quick   bool   `json:"quick,omitempty"`
	Gates   []gate `json:"gates"`
}

func (r *report) markdown(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s · median of %d rounds\n\n| gate | must | measured | | ours | reference |\n|---|---|---|---|---|---|\n", r.Machine, r.Rounds); err != nil {
		return err
	}
	for _, g := range r.Gates {
		verdict, measured := "**fail**", fmt.Sprintf("%.2f", g.Measured)
		switch {
		case g.Left != "":
			verdict, measured = "left out", g.Left
		case g.Must == "":
			verdict = ""
		case g.Pass:
			verdict = "pass"
		}
		name := g.Name
		if g.Note != "" {
			name += " (" + g.Note + ")"
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", name, g.Must, measured, verdict, g.Ours, g.Reference); err != nil {
			return err
		}
	}
	return nil
}

// atLeast and atMost are the two kinds of gates.

func atLeast(name string, must, aim, measured float64) gate {
	return gate{Name: name, Must: fmt.Sprintf(">= %.2f", must), Aim: fmt.Sprintf("%.2f", aim), Measured: measured, Pass: measured >= must}
}

func atMost(name string, must, aim, measured float64) gate {
	return gate{Name: name, Must: fmt.Sprintf("<= %.2f", must), Aim: fmt.Sprintf("%.2f", aim), Measured: measured, Pass: measured <= must}
}

func (g gate) of(ours, reference string) gate {
	g.Ours, g.Reference = ours, reference
	return g
}

func (g gate) note(text string) gate {
	g.Note = text
	return g
}

// median returns the middle of the values f has in the rounds.
func median(rounds []round, f func(*round) float64) float64 {
	values := make([]float64, len(rounds))
	for i := range rounds {
		values[i] = f(&rounds[i])
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}

// round is what the sides of a measurement did by turns.
type round map[string]*yardstick.Sample

func (r round) at(side string) *yardstick.Sample {
	if r[side] == nil {
		r[side] = &yardstick.Sample{}
	}
	return r[side]
}

// rates is the middle of what one side's rate was of the other's.
func rates(rounds []round, side, other string) float64 {
	return median(rounds, func(r *round) float64 { return r.at(side).Rate() / r.at(other).Rate() })
}

// times is the middle of what one side's typical time was of the other's.
func times(rounds []round, side, other string) float64 {
	return median(rounds, func(r *round) float64 { return float64(r.at(side).Quantile(0.5)) / float64(r.at(other).Quantile(0.5)) })
}

func rate(rounds []round, side string) string {
	return fmt.Sprintf("%.0f/s", median(rounds, func(r *round) float64 { return r.at(side).Rate() }))
}

func p50(rounds []round, side string) string {
	micros := median(rounds, func(r *round) float64 { return float64(r.at(side).Quantile(0.5)) / 1e3 })
	return fmt.Sprintf("%.1f µs", micros)
}
