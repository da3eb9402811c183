package sqlite

import (
	"context"
	"errors"
)

// readers are the connections that read. They are opened as they are needed,
// up to a number.
type readers struct {
	store *Store
	turns chan struct{} // a token for each call that may read now
	idle  chan *conn
}

func newReaders(s *Store, n int) *readers {
	return &readers{store: s, turns: make(chan struct{}, n), idle: make(chan *conn, n)}
}

// read runs f on a connection that shows the file as it is at this moment,
// whatever is written meanwhile.
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.reading(ctx, f)
}

// reading is read for a call that has been admitted.
func (s *Store) reading(ctx context.Context, f func(*conn) error) error {
	select {
	case s.readers.turns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.readers.turns }()
	c, err := s.readers.take()
	if err != nil {
		return s.fault(err)
	}
	err = s.snapshot(c, f)
	s.readers.give(c, err)
	return s.fault(err)
}

func (s *Store) snapshot(c *conn, f func(*conn) error) (err error) {
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		_, endErr := c.exec("COMMIT")
		err = errors.Join(err, endErr)
	}()
	return f(c)
}

func (p *readers) take() (*conn, error) {
	select {
	case c := <-p.idle:
		return c, nil
	default:
		return p.open()
	}
}

// open opens a connection that reads.
func (p *readers) open() (*conn, error) {
	c, err := p.store.connect()
	if err != nil {
		return nil, err
	}
	err = p.store.setUp(c)
	if err == nil {
		err = c.run("PRAGMA query_only = ON")
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// give takes a connection back. One that the engine complained about is not
// used again.
func (p *readers) give(c *conn, err error) {
	if err == nil || classified(err) {
		p.idle <- c
		return
	}
	// What is wrong with the connection is being reported already.
	_ = c.close()
}

// close closes the connections. Nobody reads any more.
func (p *readers) close() error {
	var errs []error
	for {
		select {
		case c := <-p.idle:
			errs = append(errs, c.close())
		default:
			return errors.Join(errs...)
		}
	}
}
