// Looks are shared, never older than they may be, and a definition is known by its pin alone.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../contract/call.ts";
import { parseDefinition, pinOf } from "./definition.ts";
import { createDefinitionChecks } from "./checks.ts";

const tool = (name: string, description = "says it again"): JsonObject => ({
  name,
  description,
  inputSchema: { type: "object" },
});
const pin = (entry: JsonObject): string => {
  const told = parseDefinition(entry);
  if ("fault" in told) throw new Error(told.fault);
  return pinOf(told.definition);
};

/** A server whose answers wait until they are let go. */
function slowServer(tools: () => readonly JsonObject[]) {
  const waiting: (() => void)[] = [];
  let asked = 0;
  const list = (): Promise<JsonObject> => {
    asked++;
    return new Promise((resolve) => waiting.push(() => resolve({ tools: tools() })));
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const answer = async (): Promise<void> => {
    await turn();
    waiting.shift()?.();
    await turn();
  };
  return { list, answer, asked: () => asked };
}

describe("looks at definitions", () => {
  test("who comes in the same turn shares a look; who comes later gets a later one, a few at once", async () => {
    const server = slowServer(() => [tool("echo")]);
    let at = 0;
    const looks = createDefinitionChecks(server.list, () => ++at);
    const turn = (): Promise<void> =>
      new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const first = [looks.fresh(0), looks.fresh(0), looks.fresh(0)];
    await turn();
    expect(server.asked()).toBe(1);
    const more: Promise<unknown>[] = [];
    for (let n = 0; n < 10; n++) {
      more.push(looks.fresh(0), looks.fresh(0));
      await turn();
    }
    expect(server.asked()).toBe(4);
    for (let n = 0; n < 8; n++) await server.answer();
    await Promise.all([...first, ...more]);
    expect(server.asked()).toBe(5);
    expect((await first[0])?.pin("echo")).toBe(pin(tool("echo")));
  });

  test("T12: what changed after a call came is seen before it goes out", async () => {
    let description = "says it again";
    const server = slowServer(() => [tool("echo", description)]);
    let at = 0;
    const looks = createDefinitionChecks(server.list, () => ++at);
    const first = looks.fresh(0);
    await server.answer();
    const approved = (await first).pin("echo");
    description = "says it again ";
    const second = looks.fresh(0);
    await server.answer();
    expect((await second).pin("echo")).not.toBe(approved);
  });

  test("one that is young enough is not repeated", async () => {
    const server = slowServer(() => [tool("echo")]);
    let at = 0;
    const looks = createDefinitionChecks(server.list, () => at);
    const first = looks.fresh(100);
    await server.answer();
    await first;
    at = 99;
    await looks.fresh(100);
    expect(server.asked()).toBe(1);
    at = 101;
    const again = looks.fresh(100);
    await server.answer();
    await again;
    expect(server.asked()).toBe(2);
  });

  test("a failed look fails those who waited, and the next one is a new one", async () => {
    let down = true;
    const looks = createDefinitionChecks(() =>
      down ? Promise.reject(new Error("down")) : Promise.resolve({ tools: [tool("echo")] }),
    );
    await expect(looks.fresh(0)).rejects.toThrow("down");
    down = false;
    expect((await looks.fresh(0)).pin("echo")).toBe(pin(tool("echo")));
  });

  test("a name that is there twice has no pin; neither has one that is not there", async () => {
    const looks = createDefinitionChecks(() =>
      Promise.resolve({ tools: [tool("echo"), tool("echo", "other")] }),
    );
    const seen = await looks.fresh(0);
    expect([seen.pin("echo"), seen.pin("none")]).toEqual([null, null]);
  });

  test("all pages are read, and a list that never ends is refused", async () => {
    const pages = createDefinitionChecks((cursor) =>
      Promise.resolve(
        cursor === undefined ? { tools: [tool("a")], nextCursor: "2" } : { tools: [tool("b")] },
      ),
    );
    expect((await pages.fresh(0)).entries.map(({ name }) => name)).toEqual(["a", "b"]);
    const endless = createDefinitionChecks(() =>
      Promise.resolve({ tools: [], nextCursor: "again" }),
    );
    await expect(endless.fresh(0)).rejects.toThrow("does not end");
    const wrong = createDefinitionChecks(() => Promise.resolve({ tools: "none" }));
    await expect(wrong.fresh(0)).rejects.toThrow("without a list");
  });
});
