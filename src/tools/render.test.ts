import { expect, test } from "vitest";
import { testTool } from "../../test/fixtures/gate.ts";
import { NATIVE_TOOLS } from "./index.ts";
import { functionDefinition, parametersOf } from "./render.ts";

test("R012: renders as a function definition under the wire name", () => {
  const tool = testTool();
  expect(functionDefinition(tool)).toEqual({
    type: "function",
    function: { name: "system_probe", description: tool.description, parameters: tool.inputSchema },
  });
  for (const native of NATIVE_TOOLS)
    expect(functionDefinition(native).function.name).toMatch(/^[a-z0-9_]{1,64}$/);
});

test("R011: lists parameters with type, description, required and default", () => {
  const read = NATIVE_TOOLS.find((tool) => tool.name === "file/read");
  expect(read).toBeDefined();
  const parameters = read ? parametersOf(read) : [];
  expect(parameters.find(({ name }) => name === "path")).toMatchObject({
    type: "string",
    required: true,
    default: null,
  });
  expect(parameters.find(({ name }) => name === "limit")).toMatchObject({
    type: "number",
    required: false,
    default: 2_000,
  });
  const odd = {
    properties: {
      a: { enum: ["x"] },
      b: { enum: [1] },
      c: {},
      d: { type: "array" },
      e: { type: "null" },
    },
  };
  expect(parametersOf(testTool({ inputSchema: odd })).map(({ type }) => type)).toEqual([
    "string",
    "object",
    "object",
    "array",
    "object",
  ]);
  expect(parametersOf(testTool({ inputSchema: {} }))).toEqual([]);
});
