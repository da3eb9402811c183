package selvage

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// FeedPosition is where a change stands in the feed of its store. The zero
// value is the beginning. Its text can be stored, and means the same to every
// process that works on the store; how positions of different changes compare
// is the store's matter.
type FeedPosition struct {
	Generation int64 // of the store's data; raised when it is restored from a backup
	Order      int64
	Tenant     string
	Thread     ThreadID
	Version    Version
}

// IsZero reports whether p is the beginning.
func (p FeedPosition) IsZero() bool { return p == FeedPosition{} }

// String returns the position as "generation.order.version.thread.tenant",
// names in base64 for URLs. It is made of letters, digits, "-", "_" and ".".
func (p FeedPosition) String() string {
	name := base64.RawURLEncoding.EncodeToString
	return strconv.FormatInt(p.Generation, 10) + "." + strconv.FormatInt(p.Order, 10) + "." + p.Version.String() + "." +
		name([]byte(p.Thread)) + "." + name([]byte(p.Tenant))
}

// MarshalText implements [encoding.TextMarshaler].
func (p FeedPosition) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. What is not the text of
// a position matches [ErrInvalid].
func (p *FeedPosition) UnmarshalText(text []byte) error {
	refuse := &InvalidError{Field: "position", Reason: fmt.Sprintf("%q is not the position of a feed; use one that was printed", text)}
	parts := strings.Split(string(text), ".")
	if len(parts) != 5 {
		return refuse
	}
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseUint(parts[i], 10, 63)
		if err != nil {
			return refuse
		}
		numbers[i] = int64(n)
	}
	var names [2][]byte
	for i := range names {
		var err error
		if names[i], err = base64.RawURLEncoding.Strict().DecodeString(parts[3+i]); err != nil {
			return refuse
		}
	}
	read := FeedPosition{Generation: numbers[0], Order: numbers[1], Version: Version(numbers[2]),
		Thread: ThreadID(names[0]), Tenant: string(names[1])}
	if read.String() != string(text) {
		return refuse
	}
	*p = read
	return nil
}
