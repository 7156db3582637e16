import { expect, test } from "vitest";
import { testCaller, testTool } from "../../../../test/fixtures/gate.ts";
import { governanceOf, shippedFiles } from "../../../../test/fixtures/governance.ts";
import type { JsonObject } from "../../../contract/call.ts";
import type { Governance } from "../governance.ts";

const TOOL = testTool({
  name: "shell/probe",
  effects: "system_dangerous",
  risk: "dangerous",
  touches: [
    { argument: "/command", kind: "argv", from: "/cwd" },
    { argument: "/env", kind: "env" },
    { argument: "/network", kind: "network" },
  ],
});
const governed = (policy?: string): Governance =>
  governanceOf(
    { tools: ["shell/probe"] },
    shippedFiles(
      policy === undefined
        ? {}
        : { "tools:\n": `tools:\n  shell/probe: { hosts: { policy: ${policy} } }\n` },
    ),
  );
const judge = async (given: JsonObject, governance = governed()) =>
  (
    await governance.judgeArguments({
      caller: testCaller(),
      tool: TOOL,
      arguments: { command: ["ls"], ...given },
      sessionId: null,
      mode: "NORMAL",
    })
  ).map(({ kind, reason, path }) => `${kind} ${reason} ${path}`);

test("a listed command without anything beside it asks nobody", async () => {
  expect(await judge({})).toEqual(["waive listed_command /command"]);
  expect(await judge({ env: { LANG: "C", LC_ALL: "C" }, network: false })).toEqual([
    "waive listed_command /command",
  ]);
});

test("a list of programs does not cover variables; denied ones are refused whatever their case", async () => {
  expect(await judge({ env: { "a/b~": "x" } })).toEqual(["ask command_asks /env/a~1b~0"]);
  for (const name of ["PATH", "LD_PRELOAD", "http_proxy", "NODE_OPTIONS", "GIT_DIR"])
    expect(await judge({ env: { [name]: "x" } })).toEqual([`deny env_forbidden /env/${name}`]);
});

test("variables in another form than an object cannot be judged, and are refused", async () => {
  for (const env of ["LD_PRELOAD=x", 5])
    expect(await judge({ env })).toEqual(["deny env_forbidden /env"]);
  expect(await judge({ env: ["LD_PRELOAD=x", { LANG: "C" }, null] })).toEqual([
    "deny env_forbidden /env/0",
    "deny env_forbidden /env/2",
  ]);
});

test("network is asked about, refused or left to the list of hosts, as the policy says", async () => {
  expect(await judge({ network: true })).toEqual(["ask host_asks /network"]);
  expect(await judge({ network: true }, governed("none"))).toEqual([
    "deny egress_blocked /network",
  ]);
  // Named hosts need no question, but the command is not covered by the run list either.
  expect(await judge({ network: true }, governed("list"))).toEqual([]);
});

test("what a person agreed to is what the guard goes by: any public host, and only when it was asked", () => {
  const hosts = (network: boolean, policy?: string) =>
    governed(policy).hostsFor({ tool: TOOL, arguments: { network } }).policy;
  expect([hosts(true), hosts(false), hosts(true, "list"), hosts(true, "none")]).toEqual([
    "public",
    "ask_new",
    "list",
    "none",
  ]);
});

test("relative paths of a command start from its folder", async () => {
  expect(await judge({ command: ["cat", "../x"], cwd: "a/b" })).toEqual([
    "waive listed_command /command",
  ]);
  expect(await judge({ command: ["cat", "../../../x"], cwd: "a/b" })).toEqual([
    "ask command_asks /command",
  ]);
  expect(await judge({ command: ["cat", "/etc/passwd"], cwd: "a/b" })).toEqual([
    "deny path_forbidden /command",
  ]);
});
