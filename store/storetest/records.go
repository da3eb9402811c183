package storetest

import "github.com/selvagehq/selvage"

// recordGroups are the promises about what a store keeps besides threads.
func recordGroups(cfg Config) []group {
	return []group{
		{name: "Memory", promises: memoryPromises(cfg), offered: needs[selvage.Memory]},
		{name: "Config", promises: configPromises(cfg), offered: needs[selvage.Config]},
		{name: "Publications", promises: publicationPromises(cfg), offered: needs[selvage.Publications]},
		{name: "Audit", promises: auditPromises(cfg), offered: needs[selvage.Audit]},
		{name: "StreamCheckpoints", promises: streamPromises(cfg), offered: needs[selvage.StreamCheckpoints]},
		{name: "Replay", promises: replayPromises(cfg), offered: needs[selvage.Replay]},
	}
}
