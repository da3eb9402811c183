package storetest

import (
	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// inspectPromises are about what a store says it keeps.
func inspectPromises() []promise {
	return []promise{
		{"Counts", "Inspector: Inspect counts everything the store keeps.", testInspectCounts},
		{"Closed", "Store: After Close every method matches ErrClosed.", testInspectClosed},
	}
}

func testInspectCounts(k *kit) {
	k = k.alone()
	if info := k.inspect(); info.Threads+info.Tombstones+info.Changes+info.Messages+info.Runs != 0 || info.Backend == "" || info.Generation < 1 {
		k.Errorf("an empty store says %+v", info)
	}
	first := k.create(says("one", "two"), patch(state.Set("/n", state.Int(1))))
	k.append(first, selvage.ChangeSet{Runs: []selvage.RunUpdate{{ID: "r", Status: selvage.RunRunning}}}, selvage.Any())
	gone := k.create(says("three"))
	if err := k.store.Delete(k.Context(), gone, selvage.DeleteReject); err != nil {
		k.Fatal(err)
	}
	info := k.inspect()
	if info.Threads != 1 || info.Tombstones != 1 || info.Changes != 4 || info.Messages != 2 || info.Runs != 1 || info.OpenRuns != 1 {
		k.Errorf("one thread of three changes, two messages and an open run, and a tombstone, are counted as %+v", info)
	}
	if info.StateBytes <= 0 || info.BodyBytes <= info.StateBytes {
		k.Errorf("bodies take %d bytes and those of the state %d; want some of both, and fewer of the state", info.BodyBytes, info.StateBytes)
	}
}

func testInspectClosed(k *kit) {
	k = k.alone()
	i, _ := selvage.As[selvage.Inspector](k.store)
	if err := k.store.Close(); err != nil {
		k.Fatal(err)
	}
	_, err := i.Inspect(k.Context())
	k.class("inspect", err, selvage.ErrClosed)
}

func (k *kit) inspect() selvage.StoreInfo {
	k.Helper()
	i, _ := selvage.As[selvage.Inspector](k.store)
	info, err := i.Inspect(k.Context())
	if err != nil {
		k.Fatalf("inspect: %v", err)
	}
	return info
}
