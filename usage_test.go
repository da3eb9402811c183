package selvage_test

import (
	"reflect"
	"testing"

	"github.com/selvagehq/selvage"
)

// Every count is part of sums and maxima.
func TestUsageCountsEverything(t *testing.T) {
	t.Parallel()
	n := reflect.TypeFor[selvage.Usage]().NumField()
	for i := range n {
		var u, v selvage.Usage
		reflect.ValueOf(&u).Elem().Field(i).SetInt(3)
		reflect.ValueOf(&v).Elem().Field(i).SetInt(5)
		name := reflect.TypeFor[selvage.Usage]().Field(i).Name
		if sum := reflect.ValueOf(u.Add(v)).Field(i).Int(); sum != 8 {
			t.Errorf("the sum of %s is %d, want 8", name, sum)
		}
		for _, most := range []selvage.Usage{u.Max(v), v.Max(u)} {
			if got := reflect.ValueOf(most).Field(i).Int(); got != 5 {
				t.Errorf("the greater %s is %d, want 5", name, got)
			}
		}
	}
}
