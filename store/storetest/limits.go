package storetest

import (
	"strings"

	"github.com/selvagehq/selvage"
)

func limitPromises() []promise {
	return []promise{
		{"MessagesOfASet", "CONTRACT 9: at most 1 000 messages a set; too_large names which limit.", messagesOfASet},
		{"BytesOfASet", "CONTRACT 9: at most 8 MiB a set; too_large names which limit.", bytesOfASet},
	}
}

func messagesOfASet(k *kit) {
	id := newID()
	r := k.append(id, says(make([]string, selvage.MaxSetMessages)...), selvage.New())
	if r.Added != selvage.MaxSetMessages {
		k.Errorf("%d of %d messages were added", r.Added, selvage.MaxSetMessages)
	}
	err := k.refuse(id, says(make([]string, selvage.MaxSetMessages+1)...), selvage.Any(), selvage.ErrTooLarge)
	if !strings.Contains(err.Error(), "messages") {
		k.Errorf("a set of too many messages is refused with %q; want the error to name the messages", err)
	}
}

func bytesOfASet(k *kit) {
	id := newID()
	set := says(strings.Repeat("x", selvage.MaxSetBytes-1000))
	k.append(id, set, selvage.New())
	if got := k.load(id).Messages[0].Text(); got != set.Messages[0].Text() {
		k.Errorf("a text of %d bytes came back with %d", len(set.Messages[0].Text()), len(got))
	}
	small := k.create(says("hello"))
	err := k.refuse(small, says(strings.Repeat("x", selvage.MaxSetBytes)), selvage.Any(), selvage.ErrTooLarge)
	if !strings.Contains(err.Error(), "bytes") {
		k.Errorf("a set of too many bytes is refused with %q; want the error to name the bytes", err)
	}
	half := strings.Repeat("x", selvage.MaxSetBytes/2)
	k.refuse(small, says(half, half), selvage.Any(), selvage.ErrTooLarge)
}
