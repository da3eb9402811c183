package openai

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/internal/service"
)

const (
	officialURL = "https://api.openai.com/v1"
	// defaultIdle is generous: a model that reasons may be silent for minutes.
	defaultIdle = 5 * time.Minute
)

// Options configures [New]. Only Model is needed.
type Options struct {
	// Model is the provider's name for the model, such as "gpt-5-mini".
	Model string

	// Provider is the first part of the model's [Model.Name]. Empty means
	// "openai".
	Provider string

	// BaseURL is where the protocol is served, such as
	// "http://localhost:11434/v1". Empty means OpenAI's own service.
	BaseURL string

	// APIKey is sent as a bearer token. Empty sends none, for servers that ask
	// for none.
	APIKey string

	// IdleTimeout is how long the server may send nothing at all before the
	// attempt is given up as transient, or as cut after part of the answer.
	// Time that the caller takes between chunks does not count. Zero means 5
	// minutes; negative waits for ever. Once the model has finished, its usage
	// is waited for no longer than 10 seconds.
	IdleTimeout time.Duration

	// Continues tells that the server can go on with an unfinished message of the
	// assistant, as vLLM can (continue_final_message). Other servers are asked in
	// words to go on with a [model.Request.Prefix].
	Continues bool

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
	service openai.ChatCompletionService
	// official is whether OpenAI itself is asked, not a compatible server.
	official bool
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
		o.Provider = "openai"
	}
	official := o.BaseURL == "" || strings.TrimRight(o.BaseURL, "/") == officialURL
	if o.BaseURL == "" {
		o.BaseURL = officialURL
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultIdle
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	// The service is made by itself because the SDK's client would read keys
	// and headers from the environment.
	service := openai.NewChatCompletionService(
		option.WithBaseURL(strings.TrimRight(o.BaseURL, "/")+"/"),
		option.WithAPIKey(o.APIKey),
		option.WithHTTPClient(o.HTTPClient),
		option.WithMaxRetries(0),
	)
	return &Model{options: o, service: service, official: official}, nil
}

// check refuses what could never work. No message repeats the key or a URL,
// which may hold a password.
func (o *Options) check() error {
	if strings.TrimSpace(o.Model) == "" {
		return &selvage.InvalidError{Field: "model", Reason: fmt.Sprintf("a model needs a name, such as %s/gpt-5-mini", o.Provider)}
	}
	if err := service.CheckKey(o.APIKey); err != nil {
		return err
	}
	return service.CheckURL(o.BaseURL, "http://localhost:11434/v1")
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
