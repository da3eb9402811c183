package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
)

// key is a secret that no error may show.
const key = "sk-modeltest-4f1c9d"

// Wire is how one provider is spoken to.
type Wire struct {
	// Open makes a model of the server at url, with a key, whose requests go
	// through client.
	Open func(t *testing.T, url, key string, client *http.Client) model.Model
	// Half writes an answer up to and with the text "half", and flushes it.
	Half func(w http.ResponseWriter)
	// Rest ends an answer that Half began.
	Rest func(w http.ResponseWriter)
}

// Run runs every test against a provider. They are parallel.
func Run(t *testing.T, wire Wire) {
	for name, test := range map[string]func(*testing.T, Wire){
		"Answer":                            answer,
		"Cancelled":                         cancelled,
		"CancelledBefore":                   cancelledBefore,
		"LeftEarly":                         leftEarly,
		"NobodyListens":                     nobodyListens,
		"UnknownCertificate":                unknownCertificate,
		"TheKeyStaysWithItsServer":          keyStays,
		"ACompleteAnswerGivesItsConnection": reused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, wire)
		})
	}
}

// server answers as its handler says and keeps what it was asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request // guarded by mu
}

func serve(t *testing.T, handle http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is asked is tested elsewhere
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// asked are the requests that came.
func (s *server) asked() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (wire *Wire) model(t *testing.T, s *server) model.Model {
	t.Helper()
	return wire.Open(t, s.URL, key, s.Client())
}

// whole is a handler that gives a complete answer.
func (wire *Wire) whole(w http.ResponseWriter, _ *http.Request) {
	wire.Half(w)
	wire.Rest(w)
}

func ask(t *testing.T, m model.Model) (model.Response, error) {
	t.Helper()
	return model.Collect(m.Stream(t.Context(), hello))
}

var hello = model.Request{Messages: []selvage.Message{selvage.UserText("hello")}}

// checkError fails the test unless err is of class and keeps the secret.
func checkError(t *testing.T, err error, class model.Class) {
	t.Helper()
	if got := model.ClassOf(err); got != class {
		t.Errorf("class %q of error %v, want %q", got, err, class)
	}
	if shown := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(shown, key) {
		t.Errorf("the error shows the key: %s", shown)
	}
}

// answer proves that the wire of the other tests is that of the provider.
func answer(t *testing.T, wire Wire) {
	got, err := ask(t, wire.model(t, serve(t, wire.whole)))
	if err != nil || got.Message.Text() != "half" || got.Finish != model.FinishStop {
		t.Errorf("answer %+v, error %v; want half, and its end", got, err)
	}
}

// cancelled: a cancelled answer ends at once, keeps what had arrived, and lets go
// of the connection.
func cancelled(t *testing.T, wire Wire) {
	cause := errors.New("the user left")
	released := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		wire.Half(w)
		<-r.Context().Done()
		close(released)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var a model.Accumulator
	var err error
	for c, streamErr := range wire.model(t, s).Stream(ctx, hello) {
		if err = streamErr; err == nil {
			a.Add(c)
			if a.Response().Message.Text() == "half" {
				cancel(cause)
			}
		}
	}
	checkError(t, err, model.Cancelled)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("error %v, want the context's and its cause", err)
	}
	if got := a.Response(); got.Message.Text() != "half" {
		t.Errorf("kept %q, want half", got.Message.Text())
	}
	<-released
}

// cancelledBefore: what is cancelled before it begins sends nothing.
func cancelledBefore(t *testing.T, wire Wire) {
	s := serve(t, wire.whole)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := model.Collect(wire.model(t, s).Stream(ctx, hello))
	checkError(t, err, model.Cancelled)
	if n := len(s.asked()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// leftEarly: leaving the range lets go of the connection.
func leftEarly(t *testing.T, wire Wire) {
	released := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		wire.Half(w)
		<-r.Context().Done()
		close(released)
	})
	for range wire.model(t, s).Stream(t.Context(), hello) {
		break
	}
	<-released
}

// nobodyListens: a refused connection may be tried again, and its error does not
// show the URL, which may hold what is private.
func nobodyListens(t *testing.T, wire Wire) {
	s := serve(t, wire.whole)
	s.Close()
	_, err := ask(t, wire.model(t, s))
	checkError(t, err, model.Transient)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want the refused connection in it", err)
	}
	if strings.Contains(err.Error(), "http://") {
		t.Errorf("error %v shows the URL", err)
	}
}

// unknownCertificate: a certificate that does not check out will not do so in the
// next attempt.
func unknownCertificate(t *testing.T, wire Wire) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(wire.whole))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	client := &http.Client{Transport: &http.Transport{}} // trusts what the system trusts
	t.Cleanup(client.CloseIdleConnections)
	_, err := ask(t, wire.Open(t, s.URL, key, client))
	checkError(t, err, model.Permanent)
}

// keyStays: the key does not follow a redirect to another server.
func keyStays(t *testing.T, wire Wire) {
	other := serve(t, wire.whole)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	_, err := ask(t, wire.model(t, s))
	if err == nil {
		t.Fatal("the redirect to another server was followed")
	}
	checkError(t, err, model.ClassOf(err))
	if n := len(other.asked()); n != 0 {
		t.Errorf("the other server got %d requests", n)
	}
}

// reused: a complete answer gives its connection back, so that the next turn pays
// for no new handshake.
func reused(t *testing.T, wire Wire) {
	s := serve(t, wire.whole)
	m := wire.model(t, s)
	for range 20 {
		if _, err := ask(t, m); err != nil {
			t.Fatal(err)
		}
	}
	from := map[string]bool{}
	for _, r := range s.asked() {
		from[r.RemoteAddr] = true
	}
	if len(from) != 1 {
		t.Errorf("20 answers took %d connections, want one for all", len(from))
	}
}
