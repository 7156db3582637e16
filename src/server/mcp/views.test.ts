import { describe, expect, test } from "vitest";
import type { Route, Tool } from "../../contract/tool.ts";
import { createToolNames, createViews, nameOnRoute, viewOf } from "./views.ts";

const routed = (server: string, method: string, name: string): Tool => {
  const route: Route = { server, method, name, pin: "", operation: null };
  const own = name === "" ? method.replace("/", "_") : name.replace(".", "_");
  return { name: `${server}/${own}`, wireName: `${server}_${own}`, route } as Tool; // what a view looks at
};
const native = { name: "system/echo", wireName: "system_echo", route: null } as Tool;
const read = routed("notes", "resources/read", "");
const [b, a] = [routed("notes", "tools/call", "b.x"), routed("notes", "tools/call", "a")];
const other = routed("other", "http", "get_pet");
const ALL = [native, b, a, read, other];

describe("what a caller sees of servers", () => {
  test("is split by server, tools by their own names, the rest by what it stands for", () => {
    const view = viewOf(ALL);
    expect(view.tools).toEqual([native, b, a, other]);
    expect([...view.servers.keys()]).toEqual(["notes", "other"]);
    expect(view.servers.get("notes")).toMatchObject({
      tools: [a, b],
      resources: read,
      prompts: null,
    });
    expect(nameOnRoute(b, "notes")).toBe("b.x");
    expect(nameOnRoute(b, null)).toBe("notes_b_x");
  });

  test("is worked out once for the same list", async () => {
    const views = createViews({ discover: () => Promise.resolve(ALL) });
    const caller = {} as never; // only handed on
    expect(await views.of(caller)).toBe(await views.of(caller));
  });
});

describe("names on a route", () => {
  const registry = {
    revision: 1,
    tools: ALL,
    all: () => registry.tools,
    get: (name: string) =>
      registry.tools.find((tool) => tool.name === name || tool.wireName === name) ?? null,
  };
  const names = createToolNames(registry);

  test("of a server are the server's own, and lead to its canonical names", () => {
    expect(names.tool("notes", "b.x")).toBe(b);
    expect(names.engineName("notes", "b.x")).toBe("notes/b_x");
    expect(names.tool("other", "get_pet")).toBe(other);
  });

  test.each(["b_x", "notes_b_x", "notes/b_x", "system_echo", "resources_read", "", "get_pet"])(
    "of a server do not include %j",
    (name) => {
      expect(names.tool("notes", name)).toBeNull();
      expect(registry.get(names.engineName("notes", name))).toBeNull();
    },
  );

  test("of all together are wire names, as ever", () => {
    expect(names.tool(null, "notes_a")).toBe(a);
    expect(names.engineName(null, "notes_a")).toBe("notes_a");
  });

  test("follow the registry", () => {
    registry.tools = [native];
    registry.revision++;
    expect(names.tool("notes", "a")).toBeNull();
  });
});
