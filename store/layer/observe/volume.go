package observe

import "github.com/selvagehq/selvage"

// volume is how much a call moved. Zero is unknown or nothing.
type volume struct {
	version selvage.Version // that was written or read
	rows    int             // messages, changes, threads or runs
	bytes   int             // of content, as far as it is known without encoding it
}

// ofMessages is the volume of messages.
func ofMessages(messages []selvage.Message) volume {
	v := volume{rows: len(messages)}
	for i := range messages {
		v.bytes += messageBytes(&messages[i])
	}
	return v
}

// messageBytes is how many bytes of content a message has: texts, data,
// arguments and metadata.
func messageBytes(m *selvage.Message) (n int) {
	for i := range m.Content {
		p := &m.Content[i]
		n += len(p.Text) + len(p.Data) + len(p.Value)
	}
	for i := range m.ToolCalls {
		n += len(m.ToolCalls[i].Arguments)
	}
	for _, value := range m.Metadata {
		n += len(value)
	}
	return n
}

// ofChanges is the volume of changes: their bodies as they are kept.
func ofChanges(changes []selvage.Change) volume {
	v := volume{rows: len(changes)}
	for i := range changes {
		c := &changes[i]
		v.bytes += len(c.Rest)
		for _, m := range c.Messages {
			v.bytes += len(m)
		}
	}
	return v
}
