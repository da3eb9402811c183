package main

// layerMutants are mistakes in the layers around a store.
func layerMutants() []mutant {
	retry := func(name, file, old, new string) mutant {
		return mutant{"retry: " + name, []edit{{"store/layer/retry/" + file, old, new}}, "./store/layer/retry", "."}
	}
	return []mutant{
		retry("every try is another set", "store.go", "	if fresh {\n		set.ID = selvage.NewID()\n	}\n	r, err := again(ctx, s.opts, func(ctx context.Context) (selvage.Receipt, error) { return s.next.Append(ctx, id, set, pre) })",
			"	r, err := again(ctx, s.opts, func(ctx context.Context) (selvage.Receipt, error) { return s.next.Append(ctx, id, set, pre) })"),
		retry("sends conflicts again", "store.go", "errors.Is(err, selvage.ErrUnknownOutcome)\n", "errors.Is(err, selvage.ErrUnknownOutcome) || errors.Is(err, selvage.ErrConflict)\n"),
		retry("never gives up", "store.go", "tries == opts.Tries || time.Since(began)+wait > opts.Patience", "tries == 1<<20 && time.Since(began) > 0"),
		{"observe: logs what errors quote", []edit{{"store/layer/observe/call.go", "	return \"\"\n}", "	if err != nil {\n		return err.Error()\n	}\n	return \"\"\n}"}},
			"./store/layer/observe", "."},
		{"observe: hides leases", []edit{{"store/layer/observe/store.go", "func (s *Store) Unwrap() selvage.Store { return s.next }", "func (s *Store) Inner() selvage.Store { return s.next }"}},
			"./store/layer/observe", "."},
	}
}
