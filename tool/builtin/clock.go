package builtin

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/tool"
)

type clockIn struct {
	Zone string `json:"zone,omitempty" jsonschema:"IANA time zone such as Europe/Berlin; UTC if left out"`
}

// clock tells the time.
func clock(now func() time.Time) tool.Tool {
	if now == nil {
		now = time.Now
	}
	return tool.Func("clock", "Tells the current date and time (RFC 3339).", func(_ context.Context, in clockIn) (string, error) {
		zone, err := time.LoadLocation(in.Zone)
		if err != nil {
			return "", fmt.Errorf("%q is not a time zone known here; use a name such as Europe/Berlin, or none for UTC", in.Zone)
		}
		return now().In(zone).Format(time.RFC3339), nil
	}, tool.Options{Effect: selvage.EffectNone})
}
