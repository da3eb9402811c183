package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/internal/service"
)

const (
	officialURL = "https://api.anthropic.com"
	// defaultIdle is generous: the service sends signs of life while a model
	// thinks, but what stands in front of it may not pass them on.
	defaultIdle = 5 * time.Minute
	// defaultOutput bounds an answer of which nobody said how long it may be: the
	// protocol has no default, and no current model takes less.
	defaultOutput = 16_384
)

// Thinking says whether a model thinks before it answers.
type Thinking struct {
	// Adaptive leaves it to the model how long it thinks. The models since Claude
	// 4.6 want it so.
	Adaptive bool

	// Tokens is how many tokens it may think for, at least 1024: for the models up
	// to Claude 4.5. They are part of the output. Zero is none.
	Tokens int
}

// minThinking is the least number of tokens that the service lets think for.
const minThinking = 1024

// Options configures [New]. Only Model is needed.
type Options struct {
	// Model is the provider's name for the model, such as "claude-sonnet-4-5".
	Model string

	// Provider is the first part of the model's [Model.Name]. Empty means
	// "anthropic".
	Provider string

	// BaseURL is where the protocol is served. A path /v1 at its end counts for
	// nothing. Empty means Anthropic's own service.
	BaseURL string

	// APIKey is sent in the header x-api-key. Empty sends none.
	APIKey string

	// MaxOutputTokens bounds the answer to a request that sets no bound, thinking
	// included. Zero means 16384, or what the oldest models take, and what the model
	// may think for.
	MaxOutputTokens int

	// Thinking is left to the model's own default if it says nothing.
	Thinking Thinking

	// Cache lets the provider keep the beginning of each request for five minutes,
	// so that the next turn pays a tenth for it. What is kept costs a quarter more
	// than other input the first time ([model.Price.CacheWrite]).
	Cache bool

	// IdleTimeout is how long the server may send nothing at all before the
	// attempt is given up as transient, or as cut after part of the answer.
	// Time that the caller takes between chunks does not count. Zero means 5
	// minutes; negative waits for ever.
	IdleTimeout time.Duration

	// Price is what the model costs. Nil means that it is not known.
	Price *model.Price

	// HTTPClient sends the requests. Nil means one on http.DefaultTransport,
	// without a timeout of its own.
	HTTPClient *http.Client
}

// Model is one model of one server. It is safe for concurrent use and needs no
// closing.
type Model struct {
	options Options
	service anthropic.MessageService
}

var (
	_ model.Model  = (*Model)(nil)
	_ model.Pricer = (*Model)(nil)
)

// New returns the model that options describe, without asking the server. The
// error matches [selvage.ErrInvalid].
func New(options Options) (*Model, error) {
	o := options
	if o.Provider == "" {
		o.Provider = "anthropic"
	}
	if o.BaseURL == "" {
		o.BaseURL = officialURL
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultIdle
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{}
	}
	if o.MaxOutputTokens == 0 {
		o.MaxOutputTokens = mostOutput(o.Model) + max(o.Thinking.Tokens, 0)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	// The service is made by itself because the SDK's client would read keys,
	// headers and profiles from the environment and the home directory.
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1") + "/"),
		option.WithHTTPClient(staying(o.HTTPClient)),
		option.WithMaxRetries(0),
	}
	if o.APIKey != "" {
		opts = append(opts, option.WithAPIKey(o.APIKey))
	}
	return &Model{options: o, service: anthropic.NewMessageService(opts...)}, nil
}

// staying is client, which does not follow a redirect to another host: net/http
// would take the header with the key along.
func staying(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != via[0].URL.Host {
			return http.ErrUseLastResponse
		}
		if client.CheckRedirect != nil {
			return client.CheckRedirect(req, via)
		}
		if len(via) >= 10 {
			return errors.New("the server redirects in circles")
		}
		return nil
	}
	return &c
}

// check refuses what could never work. No message repeats the key or a URL,
// which may hold a password.
func (o *Options) check() error {
	invalid := func(field, format string, args ...any) error {
		return &selvage.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case strings.TrimSpace(o.Model) == "":
		return invalid("model", "a model needs a name, such as %s/claude-sonnet-4-5", o.Provider)
	case o.MaxOutputTokens < 0:
		return invalid("max output tokens", "%d is less than nothing", o.MaxOutputTokens)
	case o.Thinking.Adaptive && o.Thinking.Tokens != 0:
		return invalid("thinking", "a model thinks either as long as it likes or for a number of tokens; choose one")
	case o.Thinking.Tokens != 0 && o.Thinking.Tokens < minThinking:
		return invalid("thinking", "a model thinks for at least %d tokens, not %d", minThinking, o.Thinking.Tokens)
	}
	if err := service.CheckKey(o.APIKey); err != nil {
		return err
	}
	return service.CheckURL(o.BaseURL, officialURL)
}

// Name returns PROVIDER/MODEL.
func (m *Model) Name() string { return m.options.Provider + "/" + m.options.Model }

// Price returns the configured price, and false if there is none.
func (m *Model) Price() (model.Price, bool) {
	if m.options.Price == nil {
		return model.Price{}, false
	}
	return *m.options.Price, true
}

// mostOutput is the default bound of a model's answers.
func mostOutput(name string) int {
	switch {
	case strings.HasPrefix(name, "claude-3-5-"):
		return 8192
	case strings.HasPrefix(name, "claude-3-") && !strings.HasPrefix(name, "claude-3-7-"):
		return 4096
	}
	return defaultOutput
}

// continues reports whether a model goes on with an assistant's message at the
// end of the conversation, as all did until Claude 4.5, and none since.
func continues(name string) bool {
	for _, old := range []string{
		"claude-3-", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5", "claude-opus-4-2025",
		"claude-sonnet-4-0", "claude-sonnet-4-5", "claude-sonnet-4-2025", "claude-haiku-4-5",
	} {
		if strings.HasPrefix(name, old) {
			return true
		}
	}
	return false
}
