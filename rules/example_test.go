package rules_test

import (
	"fmt"

	"github.com/selvagehq/selvage/rules"
	"github.com/selvagehq/selvage/state"
)

// A rule of one's own goes before a built-in one, and the infrastructure is
// told all the same.
func ExampleSet_Decide() {
	mine, err := rules.Parse([]byte(`
- name: money is for people to decide
  event: limit
  when: {path: limit.code, op: eq, value: spend_exceeded}
  do: suspend
  params: {reason: approval, message: "$${limit.max} are spent"}
- name: tell the pager
  layer: 3
  event: limit
  params: {message: "${run.id} waits"}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := rules.Compile(append(mine, rules.BuiltIn()...))
	if err != nil {
		fmt.Println(err)
		return
	}
	facts, err := state.Parse([]byte(`{"run": {"id": "r1"}, "limit": {"code": "spend_exceeded", "max": "2.50"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	d := set.Decide(rules.Limit, facts)
	fmt.Println(d.Result.Do, d.Result.Message(""))
	fmt.Println(d.Told[0].Rule+":", d.Told[0].Message(""))
	// Output:
	// suspend $2.50 are spent
	// tell the pager: r1 waits
}
