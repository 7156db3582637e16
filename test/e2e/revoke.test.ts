// A right that was taken away is not honoured by any call that begins after the taking was acknowledged (scoreboard 9).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";

const WORKERS = 8;
/** Calls that must have been let through before, and tried after. */
const ENOUGH = 30;

const ALLOW_NOBODY =
  'package ostiary.tools\n\ndefault allow := false\n\nallow if input.user_id == "nobody"\n';

let app: StartedApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

interface Tried {
  readonly began: number;
  readonly ok: boolean;
}

/** Calls without a pause from several sides until told to stop. */
function load(key: string) {
  const tried: Tried[] = [];
  let going = true;
  const worker = async (): Promise<void> => {
    while (going) {
      const began = performance.now();
      const { status } = await app.api("POST", "/executions", {
        key,
        body: { name: "system/echo", arguments: { text: "x" } },
      });
      tried.push({ began, ok: status === 200 });
    }
  };
  const workers = Array.from({ length: WORKERS }, worker);
  return {
    tried,
    async stop(): Promise<readonly Tried[]> {
      going = false;
      await Promise.all(workers);
      return tried;
    },
  };
}

interface Right {
  readonly user: string;
  /** Takes it; answers the status of the acknowledgement. */
  take(keyId: string): Promise<number>;
  giveBack?(): Promise<unknown>;
}

const RIGHTS: Record<string, Right> = {
  "a relation": {
    user: "by_relation",
    take: async () =>
      (
        await app.api("POST", "/relationships", {
          body: {
            changes: [
              { operation: "delete", relationship: "tenant:local#member@user:by_relation" },
            ],
          },
        })
      ).status,
  },
  "a key": {
    user: "by_key",
    take: async (keyId) => (await app.api("DELETE", `/keys/${keyId}`)).status,
  },
  "a policy": {
    user: "by_policy",
    async take() {
      const { body } = await app.api("POST", "/policies", {
        body: { files: { "tools.rego": ALLOW_NOBODY }, note: "closed" },
      });
      return (await app.api("POST", `/policies/${body.document.version}/publish`, { body: {} }))
        .status;
    },
    giveBack: () => app.api("POST", "/policies/rollback", { body: {} }),
  },
  "the link of a capsule": {
    user: "by_capsule",
    take: async () =>
      (await app.api("PATCH", "/capsules/narrow", { body: { capabilities: ["system/time"] } }))
        .status,
  },
  "the tool itself": {
    user: "by_tool",
    take: async () =>
      (await app.api("PATCH", "/tools/system/echo", { body: { enabled: false } })).status,
    giveBack: () => app.api("PATCH", "/tools/system/echo", { body: { enabled: true } }),
  },
};

describe.each(Object.entries(RIGHTS))("%s taken away under load", (_name, right) => {
  test("no call that began afterwards was let through", async () => {
    if (right.user === "by_capsule")
      await app.api("POST", "/capsules", {
        body: { id: "narrow", name: "narrow", capabilities: ["system/echo"] },
      });
    const key = await newUser(
      app,
      right.user,
      right.user === "by_capsule" ? { capsuleId: "narrow" } : {},
    );
    const { keyId } = await app.callerOf(key);
    const calls = load(key);
    await until(() => calls.tried.filter(({ ok }) => ok).length >= ENOUGH);
    const status = await right.take(keyId ?? "");
    const acknowledged = performance.now();
    const after = () => calls.tried.filter(({ began }) => began > acknowledged);
    await until(() => after().length >= ENOUGH);
    const tried = await calls.stop();
    await right.giveBack?.();
    expect(status).toBe(200);
    const later = tried.filter(({ began }) => began > acknowledged);
    expect(later.length).toBeGreaterThanOrEqual(ENOUGH);
    expect(later.filter(({ ok }) => ok)).toEqual([]);
  });
});
