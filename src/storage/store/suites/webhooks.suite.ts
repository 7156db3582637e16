// Endpoints outside and the messages to them: part of the store's suite.
import { describe, expect, test } from "vitest";
import { atOnce, T0 } from "./samples.suite.ts";
import { AlreadyExists, type DeliveryRow, type Store, type WebhookRow } from "../store.ts";

const hook = (change: Partial<WebhookRow> = {}): WebhookRow => ({
  id: "whk_1",
  tenantId: "local",
  url: "https://hooks.example.com/a",
  events: ["approval.*", "mode.changed"],
  description: "pager",
  enabled: true,
  origin: "api",
  sealed: "SEALED",
  previousSealed: null,
  previousUntil: null,
  fromSeq: 7,
  createdBy: "owner",
  createdAt: T0,
  updatedAt: T0,
  lastSuccessAt: null,
  lastFailureAt: null,
  failures: 0,
  failingSince: null,
  disabledReason: null,
  dropped: 0,
  ...change,
});

const message = (n: number, change: Partial<DeliveryRow> = {}): DeliveryRow => ({
  id: `msg_${n}`,
  webhookId: "whk_1",
  tenantId: "local",
  eventSeq: n,
  type: "mode.changed",
  body: `{"n":${n}}`,
  state: "pending",
  attempts: 0,
  nextAt: T0,
  lastStatus: null,
  lastError: null,
  response: null,
  createdAt: T0 + n,
  attemptedAt: null,
  ...change,
});

const failed = {
  state: "pending",
  attempts: 1,
  nextAt: T0 + 5_000,
  lastStatus: 500,
  lastError: null,
  response: "no",
  attemptedAt: T0 + 100,
} as const;
const taken = {
  state: "delivered",
  attempts: 2,
  nextAt: T0 + 5_000,
  lastStatus: 204,
  lastError: null,
  response: null,
  attemptedAt: T0 + 200,
} as const;

export function webhooksSuite(store: () => Store): void {
  describe("webhooks", () => {
    test("an endpoint comes back as it was made, to its own tenant alone", async () => {
      const { webhooks } = store();
      await webhooks.create(hook());
      await webhooks.create(hook({ id: "whk_2", tenantId: "other", enabled: false }));
      expect(await webhooks.get("local", "whk_1")).toEqual(hook());
      expect(await webhooks.get("other", "whk_1")).toBeNull();
      expect((await webhooks.list("other", { limit: 10 })).map(({ id }) => id)).toEqual(["whk_2"]);
      expect(await webhooks.list("local", { limit: 10, after: "whk_1" })).toEqual([]);
      expect((await webhooks.enabled()).map(({ id }) => id)).toEqual(["whk_1"]);
      await expect(webhooks.create(hook())).rejects.toThrow(AlreadyExists);
    });

    test("it is changed by its tenant alone; what is not named stays", async () => {
      const { webhooks } = store();
      await webhooks.create(hook({ failures: 3, failingSince: T0 }));
      expect(await webhooks.update("other", "whk_1", { url: "x", updatedAt: T0 })).toBeNull();
      const change = {
        events: ["*"],
        previousSealed: "OLD",
        previousUntil: T0 + 9,
        failingSince: null,
        failures: 0,
        updatedAt: T0 + 1,
      } as const;
      expect(await webhooks.update("local", "whk_1", change)).toEqual(hook(change));
      await webhooks.addDropped("whk_1", 2);
      await webhooks.addDropped("whk_1", 3);
      expect(await webhooks.get("local", "whk_1")).toEqual(hook({ ...change, dropped: 5 }));
    });

    test("of many that switch it off, one has done it", async () => {
      await store().webhooks.create(hook());
      const done = await atOnce(10, [store(), store()], (on) =>
        on.webhooks.disable("whk_1", "gone", T0 + 1),
      );
      expect(done.filter(Boolean).length).toBe(1);
      expect(await store().webhooks.get("local", "whk_1")).toMatchObject({
        enabled: false,
        disabledReason: "gone",
      });
    });

    test("removed, it takes its messages with it, and no others", async () => {
      const { webhooks, deliveries } = store();
      await webhooks.create(hook());
      await deliveries.add([message(1), message(2, { webhookId: "whk_2" })]);
      expect(await webhooks.remove("other", "whk_1")).toBe(false);
      expect(await webhooks.remove("local", "whk_1")).toBe(true);
      expect(await webhooks.remove("local", "whk_1")).toBe(false);
      expect(await deliveries.get("local", "msg_1")).toBeNull();
      expect(await deliveries.get("local", "msg_2")).toEqual(message(2, { webhookId: "whk_2" }));
    });
  });

  describe("deliveries", () => {
    test("one message per endpoint and event, however often it is added", async () => {
      const { deliveries } = store();
      await deliveries.add([]);
      await deliveries.add([message(1), message(2)]);
      await deliveries.add([
        message(3, { eventSeq: 2 }),
        message(4, { eventSeq: 2, webhookId: "whk_2" }),
        message(5, { eventSeq: null }),
        message(6, { eventSeq: null }),
      ]);
      const all = await deliveries.list("local", "whk_1", { limit: 10 });
      expect(all.map(({ id }) => id)).toEqual(["msg_6", "msg_5", "msg_2", "msg_1"]);
      expect(await deliveries.list("other", "whk_1", { limit: 10 })).toEqual([]);
      expect(await deliveries.list("local", "whk_1", { limit: 1, before: "msg_5" })).toEqual([
        message(2),
      ]);
      expect(await deliveries.list("local", "whk_1", { limit: 9, state: "dead" })).toEqual([]);
      expect(await deliveries.waiting([])).toEqual(new Map());
      expect(await deliveries.waiting(["whk_1", "whk_2", "whk_3"])).toEqual(
        new Map([
          ["whk_1", 4],
          ["whk_2", 1],
        ]),
      );
    });

    test("thousands are added at once", async () => {
      const rows = Array.from({ length: 1_200 }, (_, n) => message(n));
      await store().deliveries.add(rows);
      expect((await store().deliveries.waiting(["whk_1"])).get("whk_1")).toBe(1_200);
    });

    test("what is due is taken by one of all that try, until the lease is over", async () => {
      const { deliveries } = store();
      await deliveries.add([
        message(1),
        message(2),
        message(3, { nextAt: T0 + 50 }),
        message(4, { webhookId: "whk_2" }),
      ]);
      const taken = await atOnce(8, [store(), store()], (on) =>
        on.deliveries.lease("whk_1", T0, T0 + 100, 5),
      );
      expect(
        taken
          .flat()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(["msg_1", "msg_2"]);
      expect((await deliveries.lease("whk_1", T0 + 50, T0 + 100, 5)).map(({ id }) => id)).toEqual([
        "msg_3",
      ]);
      await deliveries.release("msg_1", T0 + 99);
      expect(await deliveries.lease("whk_1", T0 + 51, T0 + 100, 5)).toEqual([]);
      await deliveries.release("msg_1", T0 + 100);
      expect(await deliveries.lease("whk_1", T0 + 51, T0 + 150, 5)).toEqual([message(1)]);
      expect(
        (await deliveries.lease("whk_1", T0 + 100, T0 + 200, 5)).map(({ id }) => id).toSorted(),
      ).toEqual(["msg_2", "msg_3"]);
    });

    test("an attempt is settled once, and counts for the endpoint", async () => {
      const { webhooks, deliveries } = store();
      await webhooks.create(hook());
      await deliveries.add([message(1)]);
      const [row] = await deliveries.lease("whk_1", T0, T0 + 10, 1);
      if (!row) throw new Error("nothing was leased");
      expect(await deliveries.settle(row, T0 + 11, failed)).toBe(false);
      expect(await deliveries.settle(row, T0 + 10, failed)).toBe(true);
      expect(await deliveries.settle(row, T0 + 10, taken)).toBe(false);
      expect(await deliveries.get("local", "msg_1")).toEqual(message(1, failed));
      await deliveries.lease("whk_1", T0 + 5_000, T0 + 6_000, 1);
      await deliveries.settle(row, T0 + 6_000, { ...failed, attemptedAt: T0 + 150 });
      expect(await webhooks.get("local", "whk_1")).toMatchObject({
        failures: 2,
        failingSince: T0 + 100,
        lastFailureAt: T0 + 150,
      });
      await deliveries.lease("whk_1", T0 + 5_000, T0 + 6_000, 1);
      await deliveries.settle(row, T0 + 6_000, taken);
      expect(await webhooks.get("local", "whk_1")).toMatchObject({
        failures: 0,
        failingSince: null,
        lastSuccessAt: T0 + 200,
        lastFailureAt: T0 + 150,
      });
      expect(await deliveries.lease("whk_1", T0 + 9_000, T0 + 9_500, 1)).toEqual([]);
    });

    test("a dead one is tried again when somebody asks, but not while it is under way", async () => {
      const { deliveries } = store();
      await deliveries.add([message(1, { state: "dead", attempts: 8 }), message(2)]);
      expect(await deliveries.again("other", "msg_1", T0)).toBeNull();
      expect(await deliveries.again("local", "msg_1", T0 + 5)).toMatchObject({
        state: "pending",
        attempts: 0,
        nextAt: T0 + 5,
      });
      await deliveries.lease("whk_1", T0, T0 + 100, 5);
      expect(await deliveries.again("local", "msg_2", T0 + 5)).toBeNull();
    });

    test("old ones are removed, so many at a time", async () => {
      const { deliveries } = store();
      await deliveries.add([1, 2, 3, 4].map((n) => message(n)));
      expect(await deliveries.sweep(T0 + 4, 2)).toBe(2);
      expect(await deliveries.sweep(T0 + 4, 2)).toBe(1);
      expect((await deliveries.list("local", "whk_1", { limit: 9 })).map(({ id }) => id)).toEqual([
        "msg_4",
      ]);
    });
  });
}
