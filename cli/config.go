package cli

import (
	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage/internal/settings"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "Look at the configuration", a.configShowCommand())
}

// configDocument is the configuration in JSON.
type configDocument struct {
	Home    string                 `json:"home"`
	Values  map[string]configValue `json:"values"`
	Ignored []configIgnored        `json:"ignored"`
	Files   []configFile           `json:"files"`
}

type configValue struct {
	Value  string          `json:"value"`
	Source settings.Source `json:"source"`
	From   string          `json:"from"`
	// Reserved: nothing in this version uses the key.
	Reserved bool `json:"reserved,omitempty"`
}

type configIgnored struct {
	Key  string `json:"key"`
	File string `json:"file"`
	Line int    `json:"line"`
	Why  string `json:"why"`
}

type configFile struct {
	Path    string          `json:"path"`
	Source  settings.Source `json:"source"`
	Found   bool            `json:"found"`
	Trusted bool            `json:"trusted"`
}

func (a *app) configShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Print each value and where it came from", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			doc, err := a.configDocument()
			if err != nil {
				return err
			}
			return a.show(doc, func() {
				if a.flags.quiet {
					for _, v := range a.conf.All() {
						a.out.line("%s", v.Key)
					}
					return
				}
				a.printConfig(doc)
			})
		},
	}
}

func (a *app) configDocument() (*configDocument, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	doc := &configDocument{Home: home, Values: map[string]configValue{}, Ignored: []configIgnored{}}
	for _, v := range a.conf.All() {
		value := configValue{Value: v.Shown(), Source: v.Source, From: v.Where, Reserved: v.Reserved}
		if v.Key == "store" && !v.Set() {
			value.Value = a.defaultStore(home)
		}
		doc.Values[v.Key] = value
	}
	for _, k := range a.conf.Ignored {
		doc.Ignored = append(doc.Ignored, configIgnored{Key: k.Key, File: k.File, Line: k.Line, Why: "the directory is not trusted"})
	}
	for _, f := range a.conf.Files {
		doc.Files = append(doc.Files, configFile(f))
	}
	return doc, nil
}

func (a *app) printConfig(doc *configDocument) {
	rows := [][]string{{"home", doc.Home, a.homeSource()}}
	for _, v := range a.conf.All() {
		shown := doc.Values[v.Key]
		from := v.Where
		if from == "" {
			from = string(v.Source)
		}
		if v.Reserved && v.Set() {
			from += " (nothing uses it in this version)"
		}
		if shown.Value != "" || v.Set() {
			rows = append(rows, []string{v.Key, shown.Value, from})
		}
	}
	a.table([]string{"KEY", "VALUE", "FROM"}, rows)
	a.noteIgnored()
}

// homeSource tells what decided about the home.
func (a *app) homeSource() string {
	for _, variable := range []string{"SELVAGE_HOME", "XDG_DATA_HOME"} {
		if v, ok := a.lookup(variable); ok && v != "" {
			return variable
		}
	}
	return "default"
}
