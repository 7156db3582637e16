import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { testCaller, testTool } from "../../../../test/fixtures/gate.ts";
import { governanceOf, shippedFiles } from "../../../../test/fixtures/governance.ts";
import type { Json } from "../../../contract/call.ts";
import type { Effects } from "../../../contract/tool.ts";
import type { ArgumentFinding, Governance } from "../governance.ts";
import { addressOf, canonicalHost, isPublicAddress } from "../../../reach/egress/hosts.ts";

const CORPORA = resolve(import.meta.dirname, "../../../../../shared/corpora/ssrf");
const general = governanceOf();
const own = (hosts: string): Governance =>
  governanceOf(
    { tools: ["system/probe"] },
    shippedFiles({ "tools: {}": `tools:\n  system/probe: { hosts: ${hosts} }` }),
  );

async function judge(
  url: Json,
  governance = general,
  effects: Effects = "read_only",
): Promise<readonly ArgumentFinding[]> {
  const tool = testTool({ effects, touches: [{ argument: "/url", kind: "url" }] });
  return governance.judgeArguments({
    caller: testCaller(),
    tool,
    arguments: { url },
    sessionId: null,
    mode: "NORMAL",
  });
}
const said = async (...asked: Parameters<typeof judge>): Promise<string[]> =>
  (await judge(...asked)).map(({ kind, reason }) => `${kind} ${reason}`);

test.each([
  "https://example.org",
  "http://example.org/a?b=http://127.0.0.1/",
  "https://EXAMPLE.org:443/",
  "https://example.org./x",
  "https://münchen.example/",
  "https://93.184.216.34/",
  "https://[2606:4700::1111]/",
])("%s is public", async (url) => {
  expect(await judge(url)).toEqual([]);
});

test.each([
  ["not a url", "is not a URL"],
  ["//example.org", "is not a URL"],
  ["example.org", "is not a URL"],
  ["ftp://example.org", "ftp is not one of https, http"],
  ["file:///etc/passwd", "file is not one of"],
  ["javascript:alert(1)", "javascript is not one of"],
  ["gopher://x.y:1/", "gopher"],
  ["https://user@example.org", "a user or a password"],
  ["https://:pw@example.org", "a user or a password"],
  ["https://@example.org", "hides its host"],
  ["https://ex%61mple.org", "hides its host"],
  ["https:example.org", "does not say //host"],
  ["https:\\\\example.org", "backslashes"],
  ["https://exa\tmple.org", "blanks, control"],
  [" https://example.org", "blanks"],
  ["https://example.org/\n", "blanks"],
  ["http://127.0.0.1", "127.0.0.1 is not a public address"],
  ["http://127.1", "127.0.0.1"],
  ["http://2130706433", "127.0.0.1"],
  ["http://0x7f.1", "127.0.0.1"],
  ["http://0177.0.0.1", "127.0.0.1"],
  ["http://0", "0.0.0.0"],
  ["http://１２７.０.０.１", "127.0.0.1"],
  ["http://10.1.2.3", "not a public"],
  ["http://172.31.0.1", "not a public"],
  ["http://192.168.0.1", "not a public"],
  ["http://169.254.169.254/latest", "not a public"],
  ["http://100.64.0.1", "not a public"],
  ["http://224.0.0.1", "not a public"],
  ["http://255.255.255.255", "not a public"],
  ["http://168.63.129.16", "not a public"],
  ["http://[::1]", "not a public"],
  ["http://[::]", "not a public"],
  ["http://[::ffff:8.8.8.8]", "not a public"],
  ["http://[64:ff9b::8.8.8.8]", "not a public"],
  ["http://[2002:7f00:1::]", "not a public"],
  ["http://[fd00::1]", "not a public"],
  ["http://[fe80::1]", "not a public"],
  ["http://[ff02::1]", "not a public"],
  ["http://[2001::1]", "not a public"],
  ["http://[::127.0.0.1]", "not a public"],
  ["http://localhost", "a name of the local network"],
  ["http://intranet/", "a name of the local network"],
  ["http://localhost./", "a name of the local network"],
  ["http://a.localhost", "a.localhost is blocked"],
  ["http://x.local", "is blocked"],
  ["http://metadata.google.internal", "is blocked"],
  ["http://abc.onion", "is blocked"],
  ["https://example.org:8443", "port 8443 is not allowed"],
  ["http://example.org:22", "port 22"],
])("%j is refused: %s", async (url, why) => {
  const findings = await judge(url);
  expect(findings).toEqual([
    expect.objectContaining({ kind: "deny", reason: "egress_blocked", path: "/url", value: url }),
  ]);
  expect(findings[0]?.message).toContain(why);
});

describe("the policy of the class, or of the tool", () => {
  test("ask_new: hosts of the list pass, others ask", async () => {
    expect(await said("https://github.com/x", general, "network")).toEqual([]);
    expect(await said("https://en.wikipedia.org", general, "network")).toEqual([]);
    expect(await said("https://wikipedia.org", general, "network")).toEqual(["ask host_asks"]);
    expect(await said("https://evilwikipedia.org", general, "network")).toEqual(["ask host_asks"]);
    const [finding] = await judge("https://github.com.evil.org", general, "system_write");
    expect(finding).toMatchObject({
      kind: "ask",
      reason: "host_asks",
      message: "github.com.evil.org is not on the list of allowed hosts",
      rule: { text: "system_write: ask_new" },
    });
  });

  test("list: others are refused; none: all are", async () => {
    expect(await said("https://x.org", own("{ policy: list, allowed: [x.org] }"))).toEqual([]);
    expect(await said("https://y.org", own("{ policy: list, allowed: [x.org] }"))).toEqual([
      "deny egress_blocked",
    ]);
    expect(await said("https://github.com", general, "essential_health_check")).toEqual([
      "deny egress_blocked",
    ]);
    expect(await said("https://x.org", own("{ policy: none, allowed: [x.org] }"))).toEqual([
      "deny egress_blocked",
    ]);
  });

  test("a tool's own block list and ports; blocked beats allowed", async () => {
    const governance = own("{ blocked: ['*.x.org'], allowed: [a.x.org], ports: [8080] }");
    expect(await said("http://a.x.org:8080", governance)).toEqual(["deny egress_blocked"]);
    expect(await said("http://y.org:8080", governance)).toEqual([]);
    expect(await said("http://y.org", governance)).toEqual(["deny egress_blocked"]);
  });

  test("an exact private place is reached, its neighbours are not; a tool's own block wins", async () => {
    const governance = own("{ private: [SEARX.internal:8080, '[::1]:80', 10.0.0.7:5000] }");
    for (const url of [
      "http://searx.internal:8080/x",
      "http://[::1]/",
      "http://10.0.0.7:5000",
      "http://0x0a000007:5000",
    ])
      expect([url, await judge(url, governance, "network")]).toEqual([url, []]);
    for (const url of [
      "http://searx.internal/",
      "http://searx.internal:8081",
      "http://a.searx.internal:8080",
      "http://10.0.0.7",
      "http://10.0.0.8:5000",
      "http://[::1]:8080",
    ])
      expect([url, await said(url, governance)]).toEqual([url, ["deny egress_blocked"]]);
    expect(await said("http://searx.internal:8080", general)).toEqual(["deny egress_blocked"]);
    const both = governanceOf(
      { tools: ["system/probe"] },
      shippedFiles({
        "  private: []": "  private: [searx.internal:8080]",
        "tools: {}": "tools:\n  system/probe: { hosts: { blocked: [searx.internal] } }",
      }),
    );
    expect(await said("http://searx.internal:8080", both)).toEqual(["deny egress_blocked"]);
    expect(
      await said(
        "http://searx.internal:8080",
        own("{ policy: none, private: [searx.internal:8080] }"),
      ),
    ).toEqual(["deny egress_blocked"]);
  });

  test.each([
    "*.internal:80",
    "searx.internal",
    "10.0.0.0/8:80",
    "x:0",
    "x:70000",
    "http://x:80",
    "a b:80",
  ])("%s is no exact place", (place) => {
    expect(() => own(`{ private: ["${place}"] }`)).toThrow("one host and its port");
  });

  test("the guard goes by the same rules, with the hosts that the call names", async () => {
    const tool = testTool({ effects: "network", touches: [{ argument: "/url", kind: "url" }] });
    const rules = general.hostsFor({ tool, arguments: { url: "https://New.example.org./x" } });
    expect([
      rules.policy,
      [...rules.judged],
      rules.isAllowed("github.com"),
      rules.isBlocked("x.local"),
    ]).toEqual(["ask_new", ["new.example.org"], true, true]);
    expect([...general.hostsFor({ tool, arguments: { url: "http://127.0.0.1/" } }).judged]).toEqual(
      [],
    );
    expect(general.hostsFor({ tool: null, arguments: {} }).policy).toBe("ask_new");
  });

  test("hosts are compared in canonical form", async () => {
    const governance = own("{ policy: list, allowed: [MÜNCHEN.example] }");
    expect(await said("https://xn--mnchen-3ya.example/", governance)).toEqual([]);
  });

  test("what is no text cannot be judged, and lets the guard through to no host", async () => {
    expect(await said(5)).toEqual(["deny egress_blocked"]);
    const tool = testTool({ touches: [{ argument: "/url", kind: "url" }] });
    const url = ["https://one.example/", 5, "https://two.example/"];
    expect([...general.hostsFor({ tool, arguments: { url } }).judged]).toEqual([
      "one.example",
      "two.example",
    ]);
  });

  test("a limit of the capsule narrows the policy and names itself; ports and blocks stay the file's", async () => {
    const egress = { reach: "list", rule: "capsule c: autonomy 2" } as const;
    const tool = testTool({ effects: "network", touches: [{ argument: "/url", kind: "url" }] });
    const judged = async (url: string, governance = general) =>
      governance.judgeArguments({
        caller: testCaller(),
        tool,
        arguments: { url },
        sessionId: null,
        mode: "NORMAL",
        egress,
      });
    expect(await judged("https://new.example.org/")).toMatchObject([
      { kind: "deny", rule: { at: "capsule c: autonomy 2", text: "egress: list" } },
    ]);
    for (const url of ["https://github.com:9/", "https://x.local/"])
      expect(await judged(url)).toMatchObject([
        { kind: "deny", rule: { at: expect.stringMatching(/^tools\.yaml:\d+$/) as string } },
      ]);
    // What reaches nothing is not widened, and what is as narrow already keeps its own rule.
    for (const policy of ["none", "list"])
      expect(await judged("https://new.example.org/", own(`{ policy: ${policy} }`))).toMatchObject([
        { kind: "deny", rule: { text: expect.stringContaining(`policy: ${policy}`) as string } },
      ]);
  });
});

test("addresses and hosts", () => {
  const isPublic = isPublicAddress;
  expect([isPublic("8.8.8.8"), isPublic("::1"), isPublic("example.org")]).toEqual([
    true,
    false,
    false,
  ]);
  expect([
    canonicalHost("::1"),
    canonicalHost("a b"),
    canonicalHost(""),
    canonicalHost("a/b"),
    canonicalHost("EXAMPLE.org."),
  ]).toEqual(["[::1]", null, null, null, "example.org"]);
  expect([addressOf("[::1]"), addressOf("1.2.3.4"), addressOf("example.org")]).toEqual([
    "::1",
    "1.2.3.4",
    null,
  ]);
});

describe("the ssrf corpus", () => {
  const linesOf = (file: string): string[] =>
    readFileSync(resolve(CORPORA, file), "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));

  test.skipIf(!existsSync(CORPORA))(
    "names that need resolving aside, every line is refused; the allowed ones pass",
    async () => {
      const lines = linesOf("ssrf.txt");
      const passed: string[] = [];
      for (const line of lines)
        if (!(await said(line)).includes("deny egress_blocked")) passed.push(line);
      // A public name may lead to a private address: that is found out where it is resolved.
      const byAddress = passed.filter(
        (line) => addressOf(canonicalHost(new URL(line).hostname) ?? "") !== null,
      );
      console.info(
        `ssrf corpus: ${lines.length} lines, ${lines.length - passed.length} refused, left to resolving: ${JSON.stringify(passed)}`,
      );
      expect(
        byAddress.filter(
          (line) => !isPublicAddress(addressOf(canonicalHost(new URL(line).hostname) ?? "") ?? ""),
        ),
      ).toEqual([]);
      for (const line of linesOf("allowed.txt"))
        expect([line, await judge(line)]).toEqual([line, []]);
    },
  );
});
