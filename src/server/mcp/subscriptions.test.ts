import { describe, expect, test } from "vitest";
import type { Doors } from "../doors.ts";
import { createSubscriptions } from "./subscriptions.ts";

/** Keeps what a server upstream would be asked; refuses what a test wants refused. */
function recorder(refuses: (method: string) => boolean = () => false) {
  const asked: string[] = [];
  const request = (server: string, userId: string, method: string, params: { uri?: unknown }) => {
    asked.push(`${method} ${server} ${String(params.uri)} ${userId}`);
    return refuses(method) ? Promise.reject(new Error("no")) : Promise.resolve({});
  };
  return {
    asked,
    subscriptions: createSubscriptions({
      upstreams: { request } as unknown as NonNullable<Doors["upstreams"]>,
    }),
  };
}

describe("subscriptions at servers", () => {
  test("are made by the first who watches and ended by the last", async () => {
    const { asked, subscriptions } = recorder();
    await subscriptions.add("notes", "a:1", "anna");
    await subscriptions.add("notes", "a:1", "anna");
    await subscriptions.remove("notes", "a:1");
    expect(asked).toEqual(["resources/subscribe notes a:1 anna"]);
    await subscriptions.remove("notes", "a:1");
    expect(asked).toEqual([
      "resources/subscribe notes a:1 anna",
      "resources/unsubscribe notes a:1 anna",
    ]);
    await subscriptions.remove("notes", "a:1");
    expect(asked).toHaveLength(2);
  });

  test("are made for each user, who may have a connection of their own", async () => {
    const { asked, subscriptions } = recorder();
    await subscriptions.add("notes", "a:1", "anna");
    await subscriptions.add("notes", "a:1", "berta");
    await subscriptions.remove("notes", "a:1");
    expect(asked.filter((line) => line.startsWith("resources/unsubscribe"))).toEqual([]);
    await subscriptions.remove("notes", "a:1");
    expect(asked).toHaveLength(4);
  });

  test("are made again when the server is there again", async () => {
    const { asked, subscriptions } = recorder();
    await subscriptions.add("notes", "a:1", "anna");
    await subscriptions.add("other", "b:1", "anna");
    await subscriptions.renew("notes");
    expect(asked.filter((line) => line === "resources/subscribe notes a:1 anna")).toHaveLength(2);
    expect(asked).toHaveLength(3);
  });

  test("leave nothing behind when the server refuses", async () => {
    const { asked, subscriptions } = recorder((method) => method === "resources/subscribe");
    await expect(subscriptions.add("notes", "a:1", "anna")).rejects.toThrow("no");
    await subscriptions.remove("notes", "a:1");
    expect(asked).toEqual(["resources/subscribe notes a:1 anna"]);
  });
});
