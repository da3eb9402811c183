package sqlite

import (
	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
	"github.com/selvagehq/selvage/store/commit"
)

var _ commit.Reader = (*lookup)(nil)

// lookup reads, in the transaction that will write, what a judgement asks for.
type lookup struct {
	t        *txn
	e        *entry
	messages bool  // look messages up, rather than leave them to the index
	past     *turn // where the version is that was asked for
}

func (l *lookup) State() (state.Document, error) {
	if l.e.docKnown {
		return l.e.doc, nil
	}
	doc, tail, err := l.e.readDoc(background(), l.t.c)
	if err != nil {
		return state.Document{}, err
	}
	known := *l.e
	known.doc, known.docKnown, known.tail = doc, true, tail
	l.e = &known
	if known.key != 0 {
		l.t.remember(&known)
	}
	return doc, nil
}

func (l *lookup) At(v selvage.Version) (commit.Past, error) {
	v, err := l.e.resolve(l.t.c, v)
	if err != nil {
		return commit.Past{}, err
	}
	at, err := l.e.readAt(background(), l.t.c, v)
	if err != nil {
		return commit.Past{}, err
	}
	past := &turn{statePos: at.lastState(), messagePos: at.lastMessage()}
	if past.stateVersion, err = versionAt(l.t.c, past.statePos); err != nil {
		return commit.Past{}, err
	}
	l.past = past
	then := commit.Past{NextSeq: at.LastSeq() + 1}
	then.State, past.tail, err = l.e.fold(background(), l.t.c, past.statePos, v)
	return then, err
}

func (l *lookup) KnownMessages(ids []string) ([]bool, error) {
	known := make([]bool, len(ids))
	if !l.messages {
		return known, nil
	}
	for i, id := range ids {
		var err error
		known[i], err = l.t.c.one(func(*rows) {}, selectID, idKey(id, l.e.key), l.e.key, int64(kindMessage))
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

func (l *lookup) Run(id selvage.RunID) (*selvage.Run, error) { return readRun(l.t.c, l.t.tenant, id) }

func (l *lookup) Call(id string) (*selvage.Call, error) { return readCall(l.t.c, l.e.key, id) }

func (l *lookup) Blobs(ids []selvage.Hash) ([]bool, error) {
	known := make([]bool, len(ids))
	for i, id := range ids {
		key, err := blobKey(l.t.c, l.t.tenant, id)
		if err != nil {
			return nil, err
		}
		known[i] = key != 0
	}
	return known, nil
}

func (l *lookup) Delivery(key []byte) (digest []byte, err error) {
	_, err = l.t.c.one(func(r *rows) { digest = r.blob(0) }, selectKey, l.t.tenant, key)
	return digest, err
}

func (l *lookup) Parent(id selvage.ThreadID) (selvage.ThreadID, bool, error) {
	e, err := l.t.head(id)
	if err != nil {
		return "", false, err
	}
	return e.Thread.ParentID, e.Exists(), nil
}
