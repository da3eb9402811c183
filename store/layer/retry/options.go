package retry

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	// Tries is how often a call is made at most, the first time included.
	// Zero means 6; one never tries again.
	Tries int

	// First is the wait before the second try; each wait is twice the one
	// before it, give or take half. Zero means 20 milliseconds.
	First time.Duration

	// Longest bounds one wait. Zero means 1 second.
	Longest time.Duration

	// Patience bounds a call, from its beginning to its last try. A try under
	// way is not interrupted by it; the caller's context does that. Zero means
	// 15 seconds.
	Patience time.Duration
}

const (
	defaultTries    = 6
	defaultFirst    = 20 * time.Millisecond
	defaultLongest  = time.Second
	defaultPatience = 15 * time.Second
)

// complete returns the options with every default filled in.
func (o Options) complete() Options {
	if o.Tries <= 0 {
		o.Tries = defaultTries
	}
	if o.First <= 0 {
		o.First = defaultFirst
	}
	if o.Longest <= 0 {
		o.Longest = defaultLongest
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	return o
}

// waits returns the waits between the tries of one call.
func (o Options) waits() *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{InitialInterval: o.First, MaxInterval: o.Longest, Multiplier: 2, RandomizationFactor: 0.5}
	b.Reset()
	return b
}
