// Package postgres keeps threads in PostgreSQL 15 or later. It is the
// [selvage.Store] to use when several machines work on the same threads.
//
// An append whose thread this process knows is one statement and one round
// trip: it moves the head of the thread on, on condition that the head is
// still the one that was judged, and writes the change beside it. What the
// process remembers is never believed when it would lead to a refusal: every
// conflict, replay and missing thread is answered from what the database says.
//
// Everything lives in the schema selvage of the database. Nothing is kept in
// sessions: no advisory lock outlives its transaction, no setting is made, so
// a pooler that lends connections by transaction may stand between. Prepared
// statements are used where they work and given up where they do not.
//
// An append is as durable as the server's synchronous_commit and fsync say.
package postgres
