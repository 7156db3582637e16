// A late yes to what has ended: by a kill, a stop or a cancel. A workflow run outlives the server that drove it, so it has
// ended only once somebody ended it, or a step of it was lost.
import type { Attack, Case, Target } from "./attack.ts";
import { member, revoke, start, within, type Member } from "./callers.ts";

const CLEARS = { namespace: "user" };
const step = (more: object = {}) => [{ id: "c", tool: "memory/clear", input: CLEARS, ...more }];

/** The pending question of this user, once there is one. */
async function asked(target: Target, { id }: Member): Promise<{ id: string; executionId: string }> {
  let found: { id: string; executionId: string } | undefined;
  await within(10_000, async () => {
    const { body } = await target.api("GET", "/approvals?state=pending&limit=100");
    found = body.items.find((one: { requester: string }) => one.requester === id);
    return found !== undefined;
  });
  if (!found) throw new Error("nobody was asked");
  return found;
}

const late = (
  name: string,
  begin: (target: Target, who: Member) => Promise<unknown>,
  end: (target: Target, who: Member, outer: string) => Promise<unknown>,
): Case => ({
  name,
  async run(target) {
    const who = await member(target);
    await target.call(
      "memory/store",
      { key: "kept", value: 1, namespace: "user" },
      { key: who.key },
    );
    const begun = (await begin(target, who)) as { body: { executionId: string } };
    const { id } = await asked(target, who);
    await end(target, who, begun.body.executionId);
    const yes = await target.api("POST", `/approvals/${id}/approve`, { body: {} });
    const fresh = await target.api("POST", "/keys", {
      body: { userId: who.id, name: "look", scopes: ["*"], level: "admin", capsuleId: "all" },
    });
    const left = await target.call(
      "memory/retrieve",
      { key: "kept", namespace: "user" },
      { key: fresh.body.secret },
    );
    if (left.body.result?.found !== true) return "the step ran";
    return yes.status === 409 || yes.status === 403 ? null : `the yes was answered ${yes.status}`;
  },
});

const workflow = (steps: object[]) => async (target: Target, who: Member) => {
  await target.call("workflow/create", { name: "w", steps }, { key: who.key });
  return start(target, who, "workflow/execute", { workflowId: "w" });
};
const through = (target: Target, who: Member) =>
  start(target, who, "system/call_tool", { name: "memory/clear", arguments: CLEARS });
/** Ends every run of theirs. */
const cancelRuns = async (target: Target, { key }: Member) => {
  const { body: workflows } = await target.api("GET", "/workflows", { key });
  for (const { id } of workflows.items as { id: string }[]) {
    const { body: runs } = await target.api("GET", `/workflows/${id}/runs`, { key });
    for (const run of runs.items as { id: string; endedAt: string | null }[]) {
      if (run.endedAt === null)
        await target.api("POST", `/workflow-runs/${run.id}/cancel`, { key, body: {} });
      await within(10_000, async () => {
        const { body } = await target.api("GET", `/workflow-runs/${run.id}`, { key });
        return body.endedAt !== null;
      });
    }
  }
};
const kill = (target: Target) => target.restart("SIGKILL");
const stop = (target: Target) => target.restart("SIGTERM");
const cancel = (target: Target, who: Member, outer: string) =>
  target.api("POST", `/executions/${outer}/cancel`, { key: who.key, body: {} });
const echo = { id: "e", tool: "system/echo", input: { text: "x" } };

const attack: Attack = {
  item: "A7",
  title: "a dead run's yes",
  settings: { "rateLimit.enabled": "false" },
  cases: [
    late("a run that was cancelled", workflow(step()), cancelRuns),
    late("a run that was cancelled at its second step", workflow([echo, ...step()]), cancelRuns),
    late(
      "a run that goes on after errors, cancelled",
      workflow(step({ continueOnError: true })),
      cancelRuns,
    ),
    late("a run that was killed, then cancelled", workflow(step()), async (t, who) => {
      await kill(t);
      await cancelRuns(t, who);
    }),
    late(
      "a run whose step calls through another tool, killed",
      workflow([
        { id: "n", tool: "system/call_tool", input: { name: "memory/clear", arguments: CLEARS } },
      ]),
      kill,
    ),
    late(
      "a run that was cancelled, then stopped with the server",
      workflow(step()),
      async (t, who) => {
        await cancelRuns(t, who);
        await stop(t);
      },
    ),
    late("a run that was cancelled, then killed", workflow(step()), async (t, who) => {
      await cancelRuns(t, who);
      await kill(t);
    }),
    late("a call within a call, killed", through, kill),
    late("a call within a call, cancelled", through, cancel),
    late("a run whose key was revoked", workflow(step()), (t, who) => revoke(t, who)),
    late(
      "a call whose key was revoked",
      (t, who) => start(t, who, "memory/clear", CLEARS),
      (t, who) => revoke(t, who),
    ),
    late(
      "a call that its caller took back",
      (t, who) => start(t, who, "memory/clear", CLEARS),
      cancel,
    ),
  ],
  control: {
    name: "a call that waits for itself alone goes on after a restart",
    async run(target) {
      const who = await member(target);
      const held = await start(target, who, "memory/clear", { ...CLEARS, dryRun: true });
      await target.restart("SIGKILL");
      const yes = await target.api("POST", `/approvals/${String(held.body.approval?.id)}/approve`, {
        body: {},
      });
      if (yes.status !== 200) return `the yes was answered ${yes.status}`;
      const ran = await within(
        10_000,
        async () =>
          (
            await target.api("GET", `/executions/${String(held.body.executionId)}`, {
              key: who.key,
            })
          ).body.execution.status === "success",
      );
      return ran ? null : "it did not run";
    },
  },
};
export default attack;
