package selvage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// sealFormat is the version of the encoding below.
const sealFormat = 1

// What an encoded seal has, in its second byte, and a part of it.
const (
	sealSalt byte = 1 << iota
	sealBase
)

const (
	partSalted byte = 1 << iota
	partGone
)

// Seal encodes Salt, Parts and Base for a store: the plain salt while the
// change is as it was received, and otherwise something longer. [Change.SetSeal]
// takes it back.
func (c *Change) Seal() []byte {
	if c.Parts == nil && c.Base == nil {
		return c.Salt
	}
	b := make([]byte, 0, 2+SaltSize+4+len(c.Parts)*(1+SaltSize)+len(c.Base)+8+sha256.Size)
	b = append(b, sealFormat, 0)
	if c.Salt != nil {
		b[1] |= sealSalt
		b = append(b, c.Salt...)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Parts)))
	for _, p := range c.Parts {
		at := len(b)
		b = append(b, 0)
		if p.Salt != nil {
			b[at] |= partSalted
			b = append(b, p.Salt...)
		}
		if !p.Digest.IsZero() {
			b[at] |= partGone
			b = append(b, p.Digest[:]...)
		}
	}
	if c.Base != nil {
		b[1] |= sealBase
		digest := sha256.Sum256(c.Base)
		b = append(append(b, digest[:]...), c.Base...)
	}
	return b
}

// SetSeal sets Salt, Parts and Base from what [Change.Seal] made of them, and
// shares its bytes. Whether the parts fit the messages is for
// [Change.VerifyContent] to say. The error matches [ErrCorrupt], and then c is as
// it was.
func (c *Change) SetSeal(seal []byte) error {
	if len(seal) == SaltSize {
		c.Salt, c.Parts, c.Base = seal, nil, nil
		return nil
	}
	var r Change
	if err := r.readSeal(seal); err != nil {
		return c.corrupt("its seal cannot be read: %v", err)
	}
	c.Salt, c.Parts, c.Base = r.Salt, r.Parts, r.Base
	return nil
}

func (c *Change) readSeal(seal []byte) error {
	if len(seal) < 2 || seal[0] != sealFormat || seal[1]&^(sealSalt|sealBase) != 0 {
		return fmt.Errorf("%d bytes of no known form", len(seal))
	}
	r := &sealReader{data: seal[2:]}
	if seal[1]&sealSalt != 0 {
		c.Salt = r.take(SaltSize)
	}
	n := r.count()
	for range n {
		c.Parts = append(c.Parts, r.part())
	}
	if seal[1]&sealBase != 0 {
		digest := r.take(sha256.Size)
		c.Base = r.data
		if sum := sha256.Sum256(r.data); len(r.data) == 0 || !bytes.Equal(sum[:], digest) {
			return fmt.Errorf("the state kept with it is damaged")
		}
		r.data = nil
	}
	switch {
	case r.short:
		return fmt.Errorf("it ends too early")
	case len(r.data) > 0:
		return fmt.Errorf("%d bytes too many", len(r.data))
	case c.Parts == nil && c.Base == nil:
		return fmt.Errorf("it seals nothing")
	}
	return nil
}

// sealReader reads a seal from its beginning. Once it is short it stays so.
type sealReader struct {
	data  []byte
	short bool
}

func (r *sealReader) take(n int) []byte {
	if len(r.data) < n {
		r.short, r.data = true, nil
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}

// count reads how many parts there are, which is bounded.
func (r *sealReader) count() int {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || size > 1 && n < 1<<(7*(size-1)) || n > MaxSetMessages+extraParts {
		r.short, r.data = true, nil
		return 0
	}
	r.data = r.data[size:]
	return int(n)
}

func (r *sealReader) part() (p PartSeal) {
	flags := r.take(1)
	if flags == nil || flags[0]&^(partSalted|partGone) != 0 {
		r.short, r.data = true, nil
		return p
	}
	if flags[0]&partSalted != 0 {
		p.Salt = r.take(SaltSize)
	}
	if flags[0]&partGone != 0 {
		copy(p.Digest[:], r.take(len(p.Digest)))
		r.short = r.short || p.Digest.IsZero()
	}
	return p
}
