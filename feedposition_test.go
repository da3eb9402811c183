package selvage_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/selvagehq/selvage"
)

func TestFeedPositionText(t *testing.T) {
	t.Parallel()
	for _, want := range []selvage.FeedPosition{
		{},
		{Generation: 1},
		{Generation: 3, Order: 281474976711467, Thread: "a.b/ü 線", Version: 7},
		{Generation: math.MaxInt64, Order: math.MaxInt64, Tenant: "acme.2", Thread: "t", Version: math.MaxInt64},
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got selvage.FeedPosition
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%+v comes back from %s as %+v, %v", want, data, got, err)
		}
	}
	for _, text := range []string{"", "1", "1.2.3.4", "1.2.3..", "1.2.3.dA", "-1.0.0..", "01.0.0..", "1.0.0.d!.", "1.0.0.dB.", "9223372036854775808.0.0..", "1.0.0...", " 1.0.0.."} {
		p := selvage.FeedPosition{Order: 5}
		if err := p.UnmarshalText([]byte(text)); text != "1.2.3.." && (!errors.Is(err, selvage.ErrInvalid) || p.Order != 5) {
			t.Errorf("%q is read as %+v, %v; want it refused", text, p, err)
		}
	}
}

func TestEndOfAVersion(t *testing.T) {
	t.Parallel()
	end := selvage.Version(7).End()
	var got selvage.Position
	if err := got.UnmarshalText([]byte(end.String())); err != nil || got != end {
		t.Errorf("the end of version 7 comes back from %s as %+v, %v", end, got, err)
	}
}
