package storetest

import (
	"slices"

	"github.com/selvagehq/selvage"
)

// selects checks which threads a query answers, in any order.
func (k *kit) selects(q selvage.ThreadQuery, want ...selvage.ThreadID) {
	k.Helper()
	got := threadIDs(k.threads(q))
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		parent, byParent := q.Parent.Parent()
		k.Errorf("threads of user %q, metadata %v, text %q, parent %q (asked: %v): got %q, want %q", q.UserID, q.Metadata, q.Text, parent, byParent, got, want)
	}
}

func filterByUser(k *kit) {
	k = k.alone()
	ann := k.create(update(selvage.ThreadUpdate{UserID: ptr("ann")}))
	k.create(update(selvage.ThreadUpdate{UserID: ptr("anna")}))
	k.create(update(selvage.ThreadUpdate{UserID: ptr("Ann")}))
	k.create(says("nobody's"))
	moved := k.create(update(selvage.ThreadUpdate{UserID: ptr("bob")}), update(selvage.ThreadUpdate{UserID: ptr("ann")}))
	k.selects(selvage.ThreadQuery{UserID: "ann"}, ann, moved)
	k.selects(selvage.ThreadQuery{UserID: "bob"})
}

func filterByMetadata(k *kit) {
	k = k.alone()
	meta := func(pairs ...string) selvage.ThreadID {
		return k.create(update(selvage.ThreadUpdate{Metadata: metadata(pairs...)}))
	}
	both := meta("env", `"prod"`, "team", `"a"`)
	escaped := meta("env", `"\u0070rod"`)
	meta("env", `"production"`)
	number := meta("env", "1")
	text := meta("env", `"1"`)
	odd := meta(`a.b"c $%`, `"x\"y%"`)
	meta("env", "null")
	k.create(says("no metadata"))
	q := func(pairs ...string) selvage.ThreadQuery {
		m := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return selvage.ThreadQuery{Metadata: m}
	}
	k.selects(q("env", "prod"), both, escaped)
	k.selects(q("env", "prod", "team", "a"), both)
	k.selects(q("env", "prod", "team", "b"))
	k.selects(q("team", ""))
	k.selects(q("env", "1"), text)
	k.selects(q("env", "null"))
	k.selects(q(`a.b"c $%`, `x"y%`), odd)
	k.append(number, update(selvage.ThreadUpdate{Metadata: metadata("env", `"prod"`)}), selvage.Any())
	k.append(both, update(selvage.ThreadUpdate{Metadata: metadata("env", "null")}), selvage.Any())
	k.selects(q("env", "prod"), escaped, number)
}

func filterByText(k *kit) {
	k = k.alone()
	titled := func(id selvage.ThreadID, title string) selvage.ThreadID {
		k.append(id, update(selvage.ThreadUpdate{Title: &title}), selvage.New())
		return id
	}
	a := titled("order-42", "Tickets for Ärger & Co")
	b := titled("ORDER-43", "100% wool")
	c := titled("note_1", `back\slash 'quoted'`)
	d := titled("notes1", "")
	e := titled("x", "my order")
	for text, want := range map[string][]selvage.ThreadID{
		"":        {a, b, c, d, e},
		"order":   {a, b, e},
		"ORDER-4": {a, b},
		"tickets": {a},
		"ärger":   {a},
		"ÄRGER":   {a},
		"0% w":    {b},
		"%":       {b},
		"e_1":     {c},
		"_":       {c},
		`k\s`:     {c},
		"'":       {c},
		"*":       nil,
		"42 tick": nil,
	} {
		k.selects(selvage.ThreadQuery{Text: text}, want...)
	}
	k.append(e, update(selvage.ThreadUpdate{Title: ptr("renamed")}), selvage.Any())
	k.selects(selvage.ThreadQuery{Text: "my order"})
	k.selects(selvage.ThreadQuery{Text: "renamed"}, e)
}

func filterByParent(k *kit) {
	k = k.alone()
	child := func(parent selvage.ThreadID, user string) selvage.ThreadID {
		return k.create(update(selvage.ThreadUpdate{ParentID: &parent, UserID: &user}))
	}
	root, other := k.create(says("root")), k.create(says("other"))
	one, two := child(root, "ann"), child(root, "bob")
	grand := child(one, "ann")
	k.selects(selvage.ThreadQuery{}, root, other, one, two, grand)
	k.selects(selvage.ThreadQuery{Parent: selvage.AnyParent()}, root, other, one, two, grand)
	k.selects(selvage.ThreadQuery{Parent: selvage.Roots()}, root, other)
	k.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(root)}, one, two)
	k.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(one)}, grand)
	k.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(grand)})
	k.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf("nobody")})
	k.selects(selvage.ThreadQuery{Parent: selvage.ChildrenOf(root), UserID: "ann"}, one)
	k.selects(selvage.ThreadQuery{Parent: selvage.Roots(), UserID: "ann"})
}
