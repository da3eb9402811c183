package crashtest

import (
	"context"
	"testing"

	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/selvagetest"
)

// bank is the fake of one: what it pays is an effect that must happen once.
type bank struct{ life *selvagetest.Life }

func (b bank) Pay(_ context.Context, to string) error { return b.life.Effect("paid " + to) }

func TestKilledAnywhereItPaysOnce(t *testing.T) {
	selvagetest.Crash(t, func(life *selvagetest.Life) (runner.Options, error) {
		echo, err := sim.New("echo")
		return Agent(echo, bank{life}), err
	}, selvagetest.Script{
		Inputs: []string{`call pay {"to":"landlord"}`, "thank you"},
		Want:   []string{"paid landlord"},
	})
}

func TestAsInProduction(t *testing.T) {
	selvagetest.Replay(t, "testdata/bills.json", runner.Options{})
}
