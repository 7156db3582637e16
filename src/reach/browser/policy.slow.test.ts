// Top-level navigations obey the tool's policy for hosts; what a page loads obeys the block list and addresses.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canBrowse } from "../../../test/fixtures/browser-site.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { openWeb, type Web } from "../../../test/fixtures/web.ts";
import click from "../../tools/browser/click.ts";
import navigate from "../../tools/browser/navigate.ts";
import open from "../../tools/browser/open.ts";
import wait from "../../tools/browser/wait.ts";

const LISTED = "hosts: { policy: list, allowed: [listed.example.org] }";
const PAGE = `<!doctype html><title>Listed</title><p>text</p>
<img src="http://other.example.org/image"><img src="http://blocked.example.com/image">
<a href="http://other.example.org/page">link</a> <a href="/away">redirect</a> <a target=_blank href="http://other.example.org/popup">popup</a>`;

let web: Web;
let bench: Bench;
let sessionId: string;
beforeAll(async () => {
  web = await openWeb({
    answer(req, res) {
      if (req.url === "/away")
        res.writeHead(302, { location: "http://other.example.org/redirected" }).end();
      else res.setHeader("content-type", "text/html").end(PAGE);
      return true;
    },
  });
  const rules = Object.fromEntries(
    ["open", "navigate", "click"].map((name) => [
      `browser/${name}: { hosts: { policy: public } }`,
      `browser/${name}: { ${LISTED} }`,
    ]),
  );
  bench = await openBench({
    egress: web.egress,
    rules: { ...rules, "[localhost, ": "[blocked.example.com, localhost, " },
  });
  if (canBrowse())
    sessionId = (await bench.run(open, { url: "http://listed.example.org/" }))[
      "sessionId"
    ] as string;
}, 60_000);
afterAll(async () => {
  await bench.close();
  await web.close();
}, 30_000);

const reached = (path: string) => web.seen.filter((line) => line.endsWith(` ${path}`));

describe.skipIf(!canBrowse())("under the policy list", { timeout: 60_000 }, () => {
  test("a page of a listed host loads, with pictures of others, but for blocked ones", async () => {
    await bench.run(wait, { sessionId, type: "timeout", value: 300 });
    expect(reached("/image")).toEqual(["other.example.org GET /image"]);
  });

  test("the browser goes nowhere by itself", async () => {
    await bench.run(wait, { sessionId, type: "timeout", value: 5_000 });
    await bench.run(navigate, { sessionId, url: "http://listed.example.org/" });
    const hosts = new Set(bench.notes.flatMap((note) => note["hosts"] as string[]));
    expect([...hosts].sort()).toEqual(["listed.example.org", "other.example.org"]);
  });

  test("an address of another host is refused", async () => {
    const fault = await bench.fault(navigate, { sessionId, url: "http://other.example.org/page" });
    expect(fault).toMatchObject({ code: "FORBIDDEN", reason: "egress_blocked" });
    expect(await bench.fault(open, { url: "http://other.example.org/page" })).toMatchObject({
      reason: "egress_blocked",
    });
  });

  test.each(["link", "redirect", "popup"])("a %s to another host does not arrive", async (name) => {
    await bench.run(navigate, { sessionId, url: "http://listed.example.org/" });
    const fault = await bench.fault(click, { sessionId, selector: `text=${name}` });
    expect(fault).toMatchObject({ code: "FORBIDDEN", reason: "egress_blocked" });
    for (const path of ["/page", "/redirected", "/popup"]) expect(reached(path)).toEqual([]);
  });

  test("a redirect of an address that was given does not arrive", async () => {
    const fault = await bench.fault(navigate, { sessionId, url: "http://listed.example.org/away" });
    expect(fault).toMatchObject({ code: "FORBIDDEN", reason: "egress_blocked" });
    expect(reached("/redirected")).toEqual([]);
  });
});
