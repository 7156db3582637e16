// The one set of queries, the same on both databases.
import type { Database } from "../database.ts";
import type { Store } from "../store.ts";
import { models, personas } from "./agent-records.ts";
import { agents, questions } from "./agents.ts";
import { approvals } from "./approvals.ts";
import { capabilities } from "./capabilities.ts";
import { capsules } from "./capsules.ts";
import { assets, messages, sessions, turns } from "./conversations.ts";
import { documents } from "./documents.ts";
import { executions } from "./executions.ts";
import { facts } from "./facts.ts";
import { idempotency } from "./idempotency.ts";
import { keys } from "./keys.ts";
import { cursors, ledger } from "./ledger.ts";
import { logReads } from "./log.ts";
import { memory } from "./memory.ts";
import { results } from "./results.ts";
import { revisions } from "./revisions.ts";
import { credentials, servers, serverTools } from "./servers.ts";
import { signIns } from "./sign-ins.ts";
import { standingRules } from "./standing-rules.ts";
import { tenants } from "./tenants.ts";
import { toolDrafts } from "./tool-drafts.ts";
import { tuples } from "./tuples.ts";
import { usage } from "./usage.ts";
import { users } from "./users.ts";
import { deliveries, webhooks } from "./webhooks.ts";
import { workReads } from "./work-reads.ts";
import { instances } from "./instances.ts";
import { plans } from "./plans.ts";
import { programs } from "./programs.ts";
import { workItems } from "./work-items.ts";
import { runEvents, runs } from "./work-runs.ts";
import { dueTimes, schedules } from "./work-schedules.ts";
import { workflows } from "./workflows.ts";

export function queries(
  database: Database,
  append: Store["log"]["append"],
): Omit<Store, "kind" | "shared" | "alone" | "ping" | "close"> {
  return {
    log: { append, ...logReads(database) },
    ledger: ledger(database),
    cursors: cursors(database),
    executions: executions(database),
    idempotency: idempotency(database),
    results: results(database),
    tenants: tenants(database),
    users: users(database),
    keys: keys(database),
    signIns: signIns(database),
    capsules: capsules(database),
    personas: personas(database),
    models: models(database),
    capabilities: capabilities(database),
    memory: memory(database),
    work: workReads(database),
    workflows: workflows(database),
    runs: runs(database),
    runEvents: runEvents(database),
    schedules: schedules(database),
    dueTimes: dueTimes(database),
    workItems: workItems(database),
    instances: instances(database),
    plans: plans(database),
    programs: programs(database),
    agents: agents(database),
    questions: questions(database),
    toolDrafts: toolDrafts(database),
    sessions: sessions(database),
    messages: messages(database),
    turns: turns(database),
    assets: assets(database),
    webhooks: webhooks(database),
    deliveries: deliveries(database),
    servers: servers(database),
    serverTools: serverTools(database),
    credentials: credentials(database),
    tuples: tuples(database),
    documents: documents(database),
    approvals: approvals(database),
    standingRules: standingRules(database),
    usage: usage(database),
    revisions: revisions(database),
    facts: facts(database),
  };
}
