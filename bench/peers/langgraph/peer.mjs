// LangGraph.js with one of its own checkpointers, as an application uses it: a
// StateGraph over MessagesAnnotation with one node, compiled with the
// checkpointer, and invoked once a turn with the user's message. The node
// answers at once, so that what is measured is the library and its storage.
//
// Reads one JSON command a line from stdin and answers each with one line.
// Times are nanoseconds of this process; the pipe is not in them.
import { createInterface } from "node:readline";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";

// Clock adds up the time during which at least one call of the checkpointer
// is under way, by kind: calls may overlap.
class Clock {
  constructor() { this.reset(); }
  reset() { this.busy = { read: 0n, write: 0n }; this.open = { read: 0, write: 0 }; this.since = {}; this.calls = 0; }
  begin(kind) { this.calls++; if (this.open[kind]++ === 0) this.since[kind] = process.hrtime.bigint(); }
  end(kind) { if (--this.open[kind] === 0) this.busy[kind] += process.hrtime.bigint() - this.since[kind]; }
}

// watch lets the clock see the calls of a checkpointer and changes nothing else.
function watch(saver, clock) {
  for (const [name, kind] of [["getTuple", "read"], ["put", "write"], ["putWrites", "write"]]) {
    const call = saver[name].bind(saver);
    saver[name] = async (...args) => {
      clock.begin(kind);
      try { return await call(...args); } finally { clock.end(kind); }
    };
  }
  return saver;
}

let clock, saver, graph, answer, close, describe;

async function openSQLite({ path, synchronous }) {
  const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
  saver = SqliteSaver.fromConnString(path);
  saver.setup();
  if (synchronous) saver.db.pragma("synchronous=" + synchronous);
  close = async () => saver.db.close();
  describe = async () => ({
    sqlite: saver.db.prepare("SELECT sqlite_version() AS v").get().v,
    journal_mode: saver.db.pragma("journal_mode", { simple: true }),
    synchronous: ["OFF", "NORMAL", "FULL", "EXTRA"][saver.db.pragma("synchronous", { simple: true })],
  });
}

async function openPostgres({ path }) {
  const { PostgresSaver } = await import("@langchain/langgraph-checkpoint-postgres");
  saver = PostgresSaver.fromConnString(path);
  await saver.setup();
  close = () => saver.end();
  describe = async () => ({ synchronous: (await saver.pool.query("SHOW synchronous_commit")).rows[0].synchronous_commit });
}

const config = (thread) => ({ configurable: { thread_id: thread } });

const commands = {
  async open(c) {
    await (c.engine === "sqlite" ? openSQLite(c) : openPostgres(c));
    clock = new Clock();
    watch(saver, clock);
    graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", async () => ({ messages: [new AIMessage(answer)] }))
      .addEdge("__start__", "agent")
      .addEdge("agent", "__end__")
      .compile({ checkpointer: saver });
    return describe();
  },
  // A conversation that is there already, in one update.
  async seed({ thread, turns }) {
    const messages = turns.flatMap(([user, assistant]) => [new HumanMessage(user), new AIMessage(assistant)]);
    await graph.updateState(config(thread), { messages }, "agent");
    return {};
  },
  async turn({ thread, user, assistant, durability }) {
    answer = assistant;
    clock.reset();
    const start = process.hrtime.bigint();
    await graph.invoke({ messages: [new HumanMessage(user)] }, { ...config(thread), durability });
    const whole = process.hrtime.bigint() - start;
    return { whole: Number(whole), read: Number(clock.busy.read), write: Number(clock.busy.write), calls: clock.calls };
  },
  async load({ thread }) {
    const start = process.hrtime.bigint();
    const snapshot = await graph.getState(config(thread));
    return { whole: Number(process.hrtime.bigint() - start), messages: snapshot.values.messages.length };
  },
  async close() {
    await close();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let reply;
  try {
    reply = await commands[command.op](command);
  } catch (e) {
    reply = { error: String(e?.stack ?? e) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
