package runner

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/selvagehq/selvage"
)

// hookError reports a hook that failed.
type hookError struct {
	hook   string
	moment selvage.Moment
	err    error
}

func (e *hookError) Error() string { return fmt.Sprintf("hook %q at %s: %v", e.hook, e.moment, e.err) }

func (e *hookError) Unwrap() error { return e.err }

// at calls the hooks of a moment one after the other, each on what those
// before it did, and returns what counts at that moment alone: the tools all
// of them leave, and the first answer and the first ticket given.
func (x *run) at(ctx context.Context, scene selvage.Scene) (selvage.Effects, error) {
	var sum selvage.Effects
	hooks := x.r.opts.Hooks
	for i := range hooks {
		call := hooks[i].At(scene.Moment)
		if call == nil {
			continue
		}
		scene.ThreadID, scene.Run, scene.Step, scene.State = x.thread, x.current(), x.step, x.doc
		effects, err := x.guarded(ctx, &hooks[i], call, scene)
		if err == nil {
			err = x.apply(&hooks[i], effects)
		}
		if err != nil {
			return sum, &hookError{hooks[i].Name, scene.Moment, err}
		}
		if sum.Answer == nil {
			sum.Answer = effects.Answer
		}
		if sum.Suspend == nil {
			sum.Suspend = effects.Suspend
		}
		switch {
		case effects.Tools == nil:
		case sum.Tools == nil:
			sum.Tools = slices.Clone(effects.Tools)
		default:
			sum.Tools = slices.DeleteFunc(sum.Tools, func(name string) bool { return !slices.Contains(effects.Tools, name) })
		}
	}
	return sum, nil
}

// hooked reports whether any hook is to be called at a moment.
func (x *run) hooked(m selvage.Moment) bool {
	return slices.ContainsFunc(x.r.opts.Hooks, func(h selvage.Hook) bool { return h.At(m) != nil })
}

// apply takes the effects of a hook that count at every moment.
func (x *run) apply(hook *selvage.Hook, effects selvage.Effects) error {
	if err := effects.Patch.CheckReserved(""); err != nil {
		return err
	}
	if err := x.patch("hook:"+hook.Name, effects.Patch); err != nil {
		return err
	}
	for _, m := range effects.Messages {
		m.Visibility = selvage.VisibleInternal
		if m.Role == "" {
			m.Role = selvage.RoleSystem
		}
		m.Step = x.step
		x.say(m)
	}
	if x.stop == nil {
		x.stop = effects.Stop
	}
	return nil
}

// guarded calls a hook and turns a panic into an error.
func (x *run) guarded(ctx context.Context, hook *selvage.Hook, call selvage.HookFunc, scene selvage.Scene) (effects selvage.Effects, err error) {
	defer func() {
		if v := recover(); v != nil {
			x.log.ErrorContext(ctx, "hook panicked", "hook", hook.Name, "moment", scene.Moment, "run", x.id,
				"panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return call(ctx, scene)
}
