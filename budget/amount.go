package budget

import "github.com/selvagehq/selvage"

// Amount is what was spent.
type Amount struct {
	Spend  selvage.Money `json:"spend"`
	Tokens int64         `json:"tokens"` // input and output together
}

// Add returns the sum of a and b.
func (a Amount) Add(b Amount) Amount {
	return Amount{Spend: a.Spend + b.Spend, Tokens: a.Tokens + b.Tokens}
}

// Own is what a run has spent by itself, without those it spawned.
func Own(r *selvage.Run) Amount {
	return Amount{Spend: r.Cost, Tokens: r.Usage.InputTokens + r.Usage.OutputTokens}
}

// Bounds is what may be spent. Nil is without bound.
type Bounds struct {
	Spend  *selvage.Money `json:"spend,omitempty"`
	Tokens *int64         `json:"tokens,omitempty"`
}

// BoundsOf is the part of limits that a budget divides.
func BoundsOf(l selvage.Limits) Bounds {
	l = l.Clone()
	return Bounds{Spend: l.Spend, Tokens: l.Tokens}
}

// amount is what bounds allow, and nothing where they are without bound.
func (b Bounds) amount() (a Amount) {
	if b.Spend != nil {
		a.Spend = *b.Spend
	}
	if b.Tokens != nil {
		a.Tokens = *b.Tokens
	}
	return a
}

// clamp returns a within b, and by how much it was beyond, or nil.
func (b Bounds) clamp(a Amount) (within Amount, over *Amount) {
	within = a
	if b.Spend != nil {
		within.Spend = min(a.Spend, *b.Spend)
	}
	if b.Tokens != nil {
		within.Tokens = min(a.Tokens, *b.Tokens)
	}
	if within != a {
		over = &Amount{Spend: a.Spend - within.Spend, Tokens: a.Tokens - within.Tokens}
	}
	return within, over
}
