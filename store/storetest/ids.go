package storetest

import (
	"strings"

	"github.com/selvagehq/selvage"
)

func idPromises() []promise {
	const rule = "ids: 1..200 bytes of NFC UTF-8, no control characters, / or \\, not . or .., no leading -"
	return []promise{
		{"BadIDsAreRefused", rule + "; anything else is invalid, and nothing is written.", badIDsAreRefused},
		{"OddIDsAreKept", rule + "; everything else is kept byte for byte.", oddIDsAreKept},
		{"IDsThatLookAlikeDiffer", rule + "; ids are compared byte for byte.", idsThatLookAlikeDiffer},
	}
}

func badIDs() map[string]string {
	return map[string]string{
		"a dot": ".", "two dots": "..", "a way out": "../x", "a slash": "a/b", "a backslash": `a\b`,
		"a flag": "-rf", "a NUL": "a\x00b", "a newline": "a\nb", "a DEL": "a\x7fb", "a C1 control": "a\u0085b",
		"broken UTF-8": "a\xffb", "a decomposed letter": "e\u0301", "201 bytes": strings.Repeat("x", selvage.MaxIDBytes+1),
	}
}

func badIDsAreRefused(k *kit) {
	id := k.create(says("hello"))
	for name, bad := range badIDs() {
		k.Logf("an id with %s: %q", name, bad)
		_, err := k.store.Append(k.Context(), selvage.ThreadID(bad), says("hello"), selvage.New())
		k.class("append to a thread of that id", err, selvage.ErrInvalid)
		if _, err := k.store.Load(k.Context(), selvage.ThreadID(bad), selvage.LoadOptions{}); err == nil {
			k.Errorf("a thread of that id can be loaded after it was refused")
		}
		for what, set := range map[string]selvage.ChangeSet{
			"change set":   {ID: bad},
			"run":          {RunID: selvage.RunID(bad)},
			"parent run":   {ParentRunID: selvage.RunID(bad)},
			"messages[0]":  {Messages: []selvage.Message{say(bad, "hello")}},
			"runs[0]":      runSet(running(selvage.RunID(bad))),
			"calls[0]":     {Calls: []selvage.CallUpdate{{CallID: bad, Status: selvage.CallStarted}}},
			"messages[0].": {Messages: []selvage.Message{{Role: selvage.RoleTool, ToolCallID: bad}}},
			"thread":       {Thread: &selvage.ThreadUpdate{ParentID: ptr(selvage.ThreadID(bad))}},
		} {
			k.refuseField(id, set, selvage.Any(), what)
		}
	}
	_, err := k.store.Append(k.Context(), "", says("hello"), selvage.New())
	k.class("append to a thread without an id", err, selvage.ErrInvalid)
}

func oddIDs() []string {
	return []string{
		strings.Repeat("x", selvage.MaxIDBytes), strings.Repeat("ä", selvage.MaxIDBytes/2), "a..b", "...", ".a", "a-", "a b", " ", "%", "_", "*", "?", "'",
		`"`, "'; DROP TABLE threads; --", "$1", ":a", "@a", "a:b", "é", "日本語", "🧵", "null", "0", "NaN", "\u200b", "ﬁ", "A", "a",
	}
}

func oddIDsAreKept(k *kit) {
	k = k.alone()
	for _, odd := range oddIDs() {
		id := selvage.ThreadID(odd)
		set := selvage.ChangeSet{ID: odd, RunID: selvage.RunID(odd), Messages: []selvage.Message{say(odd, odd)},
			Runs:  []selvage.RunUpdate{{ID: selvage.RunID(odd), AgentID: odd, Status: selvage.RunCreated}},
			Calls: []selvage.CallUpdate{{CallID: odd, Name: odd, Status: selvage.CallStarted}}}
		k.append(id, set, selvage.New())
		h := k.load(id)
		if h.Thread.ID != id || h.Messages[0].ID != odd || h.Messages[0].Text() != odd || h.OpenRun == nil || h.OpenRun.ID != set.RunID || len(h.OpenCalls) != 1 || h.OpenCalls[0].ID != odd {
			k.Errorf("%q as every id there is became %s", odd, encode(k, h))
		}
		if c := k.change(id, 1); c.ID != odd {
			k.Errorf("a change set of id %q is %q in the log", odd, c.ID)
		}
		if runs := k.runs(selvage.RunQuery{ThreadID: id}); len(runs) != 1 || runs[0].ID != set.RunID {
			k.Errorf("the runs of thread %q are %s; want its one", odd, encode(k, runs))
		}
	}
	if all := k.threads(selvage.ThreadQuery{}); len(all) != len(oddIDs()) {
		k.Errorf("%d threads with different ids are %d threads", len(oddIDs()), len(all))
	}
}

func idsThatLookAlikeDiffer(k *kit) {
	k = k.alone()
	alike := []selvage.ThreadID{"thread", "Thread", "THREAD", "thread ", " thread", "thread\u200b", "ｔhread"}
	for _, id := range alike {
		k.append(id, says(string(id)), selvage.New())
	}
	for _, id := range alike {
		k.equal("messages of "+string(id), texts(k.load(id).Messages), []string{string(id)})
	}
	_, err := k.store.Load(k.Context(), "tHREAD", selvage.LoadOptions{})
	k.class("load of yet another spelling", err, selvage.ErrNotFound)
}
