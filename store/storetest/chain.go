package storetest

import "github.com/selvagehq/selvage"

// verify proves that the changes are a chain: each follows the one before it,
// and each body is the one that was appended. A chain that begins with version
// 1 begins with the zero hash.
func (k *kit) verify(log []selvage.Change) {
	k.Helper()
	for i := range log {
		c := &log[i]
		prev := c.Prev // of a chain that begins with a tombstone
		switch {
		case i > 0:
			prev = log[i-1].Hash
			if c.Version != log[i-1].Version+1 {
				k.Errorf("version %d follows version %d in the log; want no gap and no repetition", c.Version, log[i-1].Version)
			}
		case c.Version == 1:
			prev = selvage.Hash{}
		}
		if err := c.Verify(prev); err != nil {
			k.Errorf("the chain does not hold at version %d: %v", c.Version, err)
		}
	}
}
