package main

const (
	runnerPkg = "./runner"
	budgetPkg = "./budget"
)

// runMutants break what a run promises: nothing twice, nothing lost, nothing
// beyond what it may.
func runMutants() []mutant {
	in := func(name, file, old, new, tests string) mutant {
		return mutant{"run: " + name, []edit{{"runner/" + file, old, new}}, runnerPkg, tests}
	}
	budget := func(name, file, old, new, tests string) mutant {
		return mutant{"budget: " + name, []edit{{"budget/" + file, old, new}}, budgetPkg, tests}
	}
	return []mutant{
		in("journals after the effect", "calls.go", "		x.journal(selvage.CallUpdate{CallID: t.call.ID, Name: t.call.Name, Effect: spec.Effect,\n			Status: selvage.CallStarted, IdempotencyKey: t.call.ID})\n", "", "TestUnknown"),
		in("an unknown call runs again unasked", "unknown.go", "	case selvage.OnUnknownAsk:\n		t.ticket = unknownTicket(t, c)\n", "	case selvage.OnUnknownAsk:\n", "TestUnknown"),
		in("the loser of a batch is taken", "batch.go", "if conflict, ok := state.Conflicts(a.ops, o.ops); ok {", "if conflict, ok := state.Conflicts(a.ops, o.ops); ok && a.call.ID == t.call.ID {", "TestTogether"),
		in("a decided call is decided again", "conflict.go", "		x.outdone(&set)\n", "", "TestDecision"),
		in("acts on what came before it is recorded", "suspend.go", "		race = race || ", "		race = race && ", "TestDecision"),
		in("an abort ends a call only", "requests.go", "d.Action == selvage.DecisionAbort {", "d.Action == selvage.DecisionAbort && d.ID == \"\" {", "TestEarlyAbort|TestDeny"),
		in("one turn beyond the limit", "limits.go", "s.turns >= *limits.Turns", "s.turns > *limits.Turns", "TestLimit"),
		in("what is spent to the limit is not beyond it", "limits.go", "s.used.Spend+s.reserved.Spend >= *limits.Spend", "s.used.Spend+s.reserved.Spend > *limits.Spend", "TestLimit"),
		in("one generation too many", "allot.go", "*has.Depth <= 0:", "*has.Depth < 0:", "TestSpawn"),
		in("a child may more than its parent", "allot.go", "		left = min(left, *given)\n", "		left = *given\n", "TestSpawn"),
		in("a child without limits after a crash", "allot.go", "	case begun:\n", "	case begun || spawned > 0:\n", "TestSpawn"),
		in("a denial after an approval", "findrun.go", "		if o.version != judged {", "		if o.version != judged && false {", "TestApprovedWhileItIsDenied"),
		in("a window that was not looked at", "survey.go", "s.neat > from", "false", "TestGlanceIsCompose"),
		in("nobody wakes the parent", "aftermath.go", "	return wakeParent(ctx, store, &run)\n", "	return nil\n", "TestChild"),
		in("waits for a child that has ended", "park.go", "q.Ticket.Child != nil })", "q.Ticket.Child != nil && q.Call.ID == \"\" })", "TestChildEnds"),
		in("forgets what a cut attempt used", "inference.go", "	q.x.usage, q.x.cost = q.x.usage.Add(usage), q.x.cost+cost\n", "	if failed == nil {\n		q.x.usage, q.x.cost = q.x.usage.Add(usage), q.x.cost+cost\n	}\n", "TestRetry|TestCut"),
		budget("settles more than was reserved", "amount.go", "within.Spend = min(a.Spend, *b.Spend)", "within.Spend = a.Spend", "."),
		budget("a child reserves twice", "book.go", "known && entry.Status != Released {\n			return nil, nil", "known && entry.Status == Settled {\n			return nil, nil", "."),
		budget("reserves what is reserved", "sheet.go", "	held := s.Total().Add(s.Reserved())\n", "	held := s.Total()\n", "."),
	}
}
