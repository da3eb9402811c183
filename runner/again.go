package runner

import (
	"context"
	"errors"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/rules"
)

// way is how a request goes on that failed.
type way int

const (
	giveUp   way = iota
	tryAgain     // the same model, after a while
	tryAnew      // the same model, without the beginning of the answer
	tryNext      // the next model of the chain
)

// judge asks the rules about a failed request, before the loop does anything
// about it of its own accord. What is returned is the failure with the rule that
// has it tried again, if one does; the error is a [ruled] if a rule decides
// otherwise.
func (q *inquiry) judge(ctx context.Context, err error) (ruled, error) {
	x, class := q.x, model.ClassOf(err)
	x.failures++
	own := q.way(err, nil)
	if own == tryAnew {
		return ruled{cause: err}, nil // nothing failed but to go on after a beginning
	}
	r := x.rule(ctx, rules.Error, map[string]any{"error": map[string]any{"class": class, "message": err.Error(),
		"retryable": class.Retryable(), "again": own != giveUp, "attempt": x.failures}})
	switch {
	case r == nil, r.Layer == rules.BuiltInLayer && (r.Do == rules.Retry || r.Do == rules.Fail):
		return ruled{cause: err}, nil
	case r.Do == rules.Retry:
		return ruled{r, err}, nil
	}
	return ruled{}, &ruled{r, err}
}

// way finds out how a request goes on that failed. A rule that has it tried
// again, which may be nil, says of which failures, and how often.
func (q *inquiry) way(err error, r *rules.Result) way {
	retry, class := q.x.r.opts.Retry, model.ClassOf(err)
	most, passes := retry.Attempts, class.Retryable()
	if r != nil {
		passes = true
		if n := r.Number("attempts"); n > 0 {
			most = n
		}
	}
	switch {
	case class == model.Permanent && q.req.Prefix != "" && q.longer == 0:
		return tryAnew // not every service takes the beginning of an answer
	case passes && q.tries+1 < most && asksFor(err) <= retry.MaxRetryAfter:
		return tryAgain
	case (class.Retryable() || class == model.Quota) && q.at+1 < len(q.x.chain):
		return tryNext
	}
	return giveUp
}

// asksFor is how long the provider asks to be left alone.
func asksFor(err error) time.Duration {
	var provider *model.Error
	if errors.As(err, &provider) {
		return provider.RetryAfter
	}
	return 0
}

// take goes a way, and returns how long to wait first.
func (q *inquiry) take(next way, r ruled) time.Duration {
	switch q.tries++; next {
	case tryAnew:
		q.anew = true
	case tryNext:
		q.at, q.tries = q.at+1, 0
		q.wait.Reset()
		if model.ClassOf(r.cause) == model.Quota {
			q.x.first = q.at // nothing comes of asking that one again
		}
	case tryAgain:
		if r.result != nil {
			if wait, said := r.result.Wait(); said {
				return wait
			}
		}
		return max(q.wait.NextBackOff(), asksFor(r.cause))
	}
	return 0
}

// repeat prepares the next attempt after a failure: to go on after what has
// come, or anew.
func (q *inquiry) repeat(ctx context.Context, err error, pause time.Duration) {
	q.req.Attempt++
	by := q.x.chain[q.at].model.Name()
	q.x.log.DebugContext(ctx, "model asked again", "run", q.x.id, "attempt", q.req.Attempt, "model", by, "wait", pause, "err", err)
	note := err.Error()
	if pause == 0 && q.tries == 0 {
		note += "; asking " + by
	}
	if (q.x.onPartial != Restart || q.longer > 0) && q.mayGoOn() {
		q.goOn(note)
	} else {
		q.answer.clear(selvage.NewID())
		q.req.Prefix = ""
		q.tell(EventRetry, note)
	}
	if !q.answer.empty() {
		q.scribe.now() // the wait may be long
	}
}

// mayGoOn reports whether the answer can be gone on with.
func (q *inquiry) mayGoOn() bool {
	return !q.anew && !q.answer.silent() && len(q.answer.calls) == 0 && q.answer.writing == nil
}

// goOn makes the next attempt one that follows what has come.
func (q *inquiry) goOn(note string) {
	q.req.Prefix = q.answer.text.String()
	q.tell(EventContinue, note)
}
