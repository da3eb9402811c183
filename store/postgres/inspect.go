package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/selvagehq/selvage"
)

// Inspect implements [selvage.Inspector]. Durability is what the server is
// configured for: durable unless it answers before its log is on the disk.
func (s *Store) Inspect(ctx context.Context) (info selvage.StoreInfo, err error) {
	err = s.read(ctx, "inspect", func(tx pgx.Tx) error {
		info = selvage.StoreInfo{Backend: "postgres", Generation: s.generation >> generationShift}
		for _, q := range inspections {
			if err := tx.QueryRow(ctx, q.sql).Scan(q.into(&info)...); err != nil {
				return err
			}
		}
		return nil
	})
	return info, err
}

// inspections are the statements that count, and where what they find goes.
var inspections = []struct {
	sql  string
	into func(*selvage.StoreInfo) []any
}{
	{`SELECT 'PostgreSQL ' || current_setting('server_version'),
		CASE WHEN current_setting('fsync') = 'off' THEN 'ephemeral'
		     WHEN current_setting('synchronous_commit') = 'off' THEN 'crash-safe' ELSE 'durable' END`,
		func(i *selvage.StoreInfo) []any { return []any{&i.Engine, &i.Durability} }},
	{`SELECT coalesce(max(version_id), 0) FROM ` + migrationTable + ` WHERE is_applied`,
		func(i *selvage.StoreInfo) []any { return []any{&i.Schema} }},
	{`SELECT count(*) FILTER (WHERE born > 0), count(*) FILTER (WHERE deleted) FROM selvage.threads`,
		func(i *selvage.StoreInfo) []any { return []any{&i.Threads, &i.Tombstones} }},
	{`SELECT count(*), coalesce(sum(added), 0)::bigint, coalesce(sum(coalesce(octet_length(rest), 0) + coalesce(octet_length(messages), 0)), 0)::bigint,
		coalesce(sum(CASE WHEN effect > 0 THEN coalesce(octet_length(rest), 0) ELSE 0 END), 0)::bigint FROM selvage.changes`,
		func(i *selvage.StoreInfo) []any { return []any{&i.Changes, &i.Messages, &i.BodyBytes, &i.StateBytes} }},
	{`SELECT count(*), count(*) FILTER (WHERE open) FROM selvage.runs`,
		func(i *selvage.StoreInfo) []any { return []any{&i.Runs, &i.OpenRuns} }},
	{`SELECT coalesce(sum(octet_length(doc)), 0)::bigint FROM selvage.state_cache`,
		func(i *selvage.StoreInfo) []any { return []any{&i.CacheBytes} }},
	{`SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
		WHERE c.relnamespace = 'selvage'::regnamespace AND c.relkind IN ('r', 'p')`,
		func(i *selvage.StoreInfo) []any { return []any{&i.Bytes} }},
}
