// The twelve tools against a real Chromium in a real box. One bench and one site for all: starting a browser takes a
// second.
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  canBrowse,
  openSite,
  ownBrowsers,
  type Site,
} from "../../../test/fixtures/browser-site.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import type { JsonObject } from "../../contract/call.ts";
import read from "../file/read.ts";
import click from "./click.ts";
import close from "./close.ts";
import extract from "./extract.ts";
import navigate from "./navigate.ts";
import observe from "./observe.ts";
import open from "./open.ts";
import screenshot from "./screenshot.ts";
import scroll from "./scroll.ts";
import select from "./select.ts";
import tabs from "./tabs.ts";
import type_ from "./type.ts";
import wait from "./wait.ts";

const FORM = `<!doctype html><title>Form</title><h1>Order</h1>
<form action="/sent"><label>Name <input name="name" value="Al"></label>
<label>Password <input type="password" name="pw" value="from-server"></label>
<label>Locked <input name="locked" readonly value="fixed"></label>
<label>Colour <select name="colour"><option value="r">Red</option><option value="b">Blue</option><option value="x" disabled>Gone</option></select></label>
<textarea aria-label="Notes"></textarea>
<button>Send</button> <button type="button" disabled>Never</button></form>
<p class="twin">one</p><p class="twin">two</p><p id="hidden" style="display:none">hidden</p>
<a href="/article" target="_blank">In a new tab</a> <a href="/article">Article</a> <a href="/file">File</a>
<button onclick="document.title='said '+confirm('Really?')">Ask me</button>
<button onclick="document.title='got '+prompt('Who?')">Prompt me</button>`;
const ARTICLE = `<!doctype html><title>Article</title><meta name="author" content="Ada"><h1>Ink &amp; pens</h1>
<p>Published: 2026-01-02</p><p>Some <b>bold</b> text.</p><a href="/form">back</a><img src="/dot.png" alt="A dot" width=1>
<table><caption>Prices</caption><tr><th>Item</th><th>Price</th></tr><tr><td>Pen</td><td>1.50</td></tr><tr><td>Ink</td><td>2</td></tr></table>
<div style="height:5000px"></div><p id=end>the end</p><div id=box style="height:50px;overflow:auto"><div style="height:500px">tall</div></div>`;

let site: Site;
let bench: Bench;
let sessionId: string;
const go = (path: string) => bench.run(navigate, { sessionId, url: `${site.base}${path}` });

beforeAll(async () => {
  site = await openSite({
    "/form": FORM,
    "/article": ARTICLE,
    "/sent": (req, res) =>
      void res
        .setHeader("content-type", "text/html")
        .end(`<title>Sent</title>${new URL(req.url ?? "", site.base).search}`),
    "/away": (_req, res) => void res.writeHead(302, { location: "/article" }).end(),
    "/file": (_req, res) =>
      void res
        .setHeader("content-disposition", 'attachment; filename="../../re port.txt"')
        .end("downloaded"),
    "/late":
      '<title>Late</title><script>setTimeout(() => { document.body.innerHTML = "<p id=late>arrived</p>" }, 300)</script>',
    "/tall": '<title>Tall</title><div style="height:30000px">tall</div>',
    "/break": (req) => void req.socket.destroy(),
  });
  bench = await openBench({ rules: { "private: []": `private: ["127.0.0.1:${site.port}"]` } });
  if (canBrowse())
    ({ sessionId } = (await bench.run(open, { url: `${site.base}/form` })) as {
      sessionId: string;
    });
}, 60_000);
afterAll(async () => {
  await bench.close();
  await site.close();
}, 30_000);

describe.skipIf(!canBrowse())("with Chromium and bubblewrap", { timeout: 60_000 }, () => {
  describe("open and navigate", () => {
    test("a page is loaded, and what is known of it comes back", async () => {
      bench.notes.length = 0;
      expect(await go("/article")).toMatchObject({
        url: `${site.base}/article`,
        title: "Article",
        status: 200,
        redirected: false,
      });
      expect(bench.notes[0]).toMatchObject({ untrusted: true, hosts: ["127.0.0.1"] });
    });

    test("a redirect is followed and said", async () => {
      expect(await go("/away")).toMatchObject({ url: `${site.base}/article`, redirected: true });
    });

    test("an error page of the server is a result", async () => {
      expect(await go("/nothing")).toMatchObject({ status: 404, title: "Not here" });
    });

    test("back, forward and reload", async () => {
      await go("/form");
      await go("/article");
      expect(await bench.run(navigate, { sessionId, action: "back" })).toMatchObject({
        title: "Form",
      });
      expect(await bench.run(navigate, { sessionId, action: "forward" })).toMatchObject({
        title: "Article",
      });
      expect(await bench.run(navigate, { sessionId, action: "reload" })).toMatchObject({
        title: "Article",
      });
      expect(await bench.fault(navigate, { sessionId, action: "forward" })).toMatchObject({
        reason: "navigation_failed",
      });
    });

    test("url and action together, or neither, are refused", async () => {
      for (const more of [{}, { url: site.base, action: "back" }])
        expect(await bench.fault(navigate, { sessionId, ...more })).toMatchObject({
          code: "BAD_REQUEST",
          reason: "invalid_arguments",
        });
    });

    test("a server that breaks off is navigation_failed, with words for it", async () => {
      const fault = await bench.fault(navigate, { sessionId, url: `${site.base}/break` });
      expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "navigation_failed" });
      expect(fault.remedy).toBeTruthy();
    });

    test("encryption that fails is navigation_failed", async () => {
      const fault = await bench.fault(navigate, {
        sessionId,
        url: `https://127.0.0.1:${site.port}/`,
      });
      expect(fault).toMatchObject({
        reason: "navigation_failed",
        message: expect.stringContaining("ERR_"),
      });
    });

    test.each([
      "http://127.0.0.1:9/",
      "http://169.254.169.254/latest",
      "http://localhost/",
      "file:///etc/passwd",
      "chrome://version",
      "data:text/html,x",
      "view-source:http://example.com/",
    ])("%s is refused", async (url) => {
      expect(await bench.fault(navigate, { sessionId, url })).toMatchObject({
        code: "FORBIDDEN",
        reason: "egress_blocked",
      });
      expect(await bench.fault(tabs, { sessionId, action: "open", url })).toMatchObject({
        reason: "egress_blocked",
      });
    });

    test("an address that is a download says so", async () => {
      expect(await bench.fault(navigate, { sessionId, url: `${site.base}/file` })).toMatchObject({
        reason: "navigation_failed",
        message: expect.stringContaining("download"),
      });
    });
  });

  describe("observe and click", () => {
    test("elements have refs that can be clicked", async () => {
      await go("/form");
      const seen = await bench.run(observe, { sessionId, instruction: "send the order" });
      const elements = seen["elements"] as {
        ref: string;
        role: string;
        name: string;
        enabled: boolean;
      }[];
      expect(elements[0]).toMatchObject({ role: "button", name: "Send", enabled: true });
      expect(elements.find(({ name }) => name === "Never")).toMatchObject({ enabled: false });
      const clicked = await bench.run(click, { sessionId, selector: elements[0]?.ref ?? "" });
      expect(clicked).toMatchObject({ clicked: true, navigated: true });
      expect(clicked["url"]).toContain("/sent?name=Al");
      expect(await bench.fault(click, { sessionId, selector: "ref=e999" })).toMatchObject({
        reason: "selector_not_found",
      });
    });

    test("the list is cut at maxElements and says so", async () => {
      await go("/form");
      const seen = await bench.run(observe, { sessionId, maxElements: 2 });
      expect(seen).toMatchObject({ truncated: true, title: "Form" });
      expect(seen["elements"]).toHaveLength(2);
    });

    test("a click that opens a tab names it", async () => {
      await go("/form");
      const { openedTabId } = await bench.run(click, { sessionId, selector: "text=In a new tab" });
      expect(openedTabId).toEqual(expect.any(String));
      const after = await bench.run(tabs, {
        sessionId,
        action: "close",
        tabId: openedTabId as string,
      });
      expect(after["tabs"]).toHaveLength(1);
    });

    test("what cannot be clicked says why", async () => {
      await go("/form");
      const reasons = {
        "#nope": "selector_not_found",
        ".twin": "selector_ambiguous",
        "#hidden": "not_visible",
        'role=button[name="Never"]': "not_enabled",
      };
      for (const [selector, reason] of Object.entries(reasons))
        expect([selector, (await bench.fault(click, { sessionId, selector })).reason]).toEqual([
          selector,
          reason,
        ]);
      expect((await bench.fault(click, { sessionId, selector: ".twin" })).message).toMatch(
        /2 elements.*one.*two/,
      );
      expect(await bench.fault(click, { sessionId, selector: "a[[" })).toMatchObject({
        code: "BAD_REQUEST",
      });
    });
  });

  describe("dialogs", () => {
    test("one that opens is told, holds up everything, and can be answered", async () => {
      await go("/form");
      const fault = await bench.fault(click, { sessionId, selector: "text=Ask me" });
      expect(fault).toMatchObject({
        reason: "dialog_open",
        message: expect.stringContaining("Really?"),
        remedy: expect.stringContaining("dialog=accept"),
      });
      expect(await bench.fault(observe, { sessionId })).toMatchObject({ reason: "dialog_open" });
      await bench.run(click, { sessionId, selector: "dialog=accept" });
      expect(await bench.run(observe, { sessionId })).toMatchObject({ title: "said true" });
    });

    test("a prompt takes a text", async () => {
      await go("/form");
      expect(await bench.fault(click, { sessionId, selector: "text=Prompt me" })).toMatchObject({
        reason: "dialog_open",
      });
      await bench.run(type_, { sessionId, selector: "dialog=prompt", text: "Ada" });
      expect(await bench.run(observe, { sessionId })).toMatchObject({ title: "got Ada" });
    });

    test("going elsewhere dismisses it", async () => {
      await go("/form");
      await bench.fault(click, { sessionId, selector: "text=Ask me" });
      expect(await go("/article")).toMatchObject({ title: "Article" });
    });
  });

  describe("type and select", () => {
    test("text is added, or replaces what stands there, and Enter submits", async () => {
      await go("/form");
      const selector = 'role=textbox[name="Name"]';
      expect(await bench.run(type_, { sessionId, selector, text: "an" })).toMatchObject({
        typed: 2,
        navigated: false,
      });
      const value = async () =>
        (
          (await bench.run(observe, { sessionId }))["elements"] as {
            name: string;
            value?: string;
          }[]
        ).find(({ name }) => name === "Name")?.value;
      expect(await value()).toBe("Alan");
      await bench.run(type_, { sessionId, selector, text: "Ada", clear: true });
      expect(await value()).toBe("Ada");
      const sent = await bench.run(type_, { sessionId, selector, text: "!", submit: true });
      expect(sent).toMatchObject({ navigated: true, url: expect.stringContaining("name=Ada") });
    });

    test("long and many-lined texts arrive whole", async () => {
      await go("/form");
      const text = "line\n".repeat(1_000);
      await bench.run(type_, { sessionId, selector: "textarea", text });
      const seen = await bench.run(observe, { sessionId });
      expect(JSON.stringify(seen)).toContain("line");
    });

    test("what stands in a password field is nowhere", async () => {
      await go("/form");
      const text = "hunter2-never-shown";
      const typed = await bench.run(type_, {
        sessionId,
        selector: "input[type=password]",
        text,
        clear: true,
      });
      const answers = [typed, await bench.run(observe, { sessionId })];
      for (const type of ["text", "html", "attributes"])
        answers.push(await bench.run(extract, { sessionId, type, selector: "input, body" }));
      answers.push(
        await bench.run(extract, {
          sessionId,
          schema: {
            type: "object",
            properties: { password: { type: "string" }, pw: { type: "string" } },
          },
        }),
      );
      expect(JSON.stringify(answers)).not.toContain("hunter2");
      expect(JSON.stringify(answers)).not.toContain("from-server");
    });

    test("what takes no text is not_editable", async () => {
      await go("/form");
      for (const selector of ["h1", "input[name=locked]"])
        expect(await bench.fault(type_, { sessionId, selector, text: "x" })).toMatchObject({
          reason: "not_editable",
        });
    });

    test("an option is chosen by value, label or position", async () => {
      await go("/form");
      const blue = { selected: [{ value: "b", label: "Blue" }] };
      for (const choice of [{ value: "b" }, { label: "Blue" }, { index: 1 }])
        expect(await bench.run(select, { sessionId, selector: "select", ...choice })).toEqual(blue);
    });

    test("an option that is not there is option_not_found, with those that are", async () => {
      await go("/form");
      for (const choice of [{ value: "green" }, { index: 9 }, { value: "x" }]) {
        const fault = await bench.fault(select, { sessionId, selector: "select", ...choice });
        expect(fault).toMatchObject({
          reason: "option_not_found",
          message: expect.stringContaining("Blue"),
        });
      }
      expect(await bench.fault(select, { sessionId, selector: "h1", index: 0 })).toMatchObject({
        reason: "not_editable",
      });
      expect(await bench.fault(select, { sessionId, selector: "select" })).toMatchObject({
        code: "BAD_REQUEST",
      });
    });
  });

  describe("scroll and wait", () => {
    test("the page and an element scroll, and say where they are", async () => {
      await go("/article");
      expect(await bench.run(scroll, { sessionId, amount: 300 })).toMatchObject({
        y: 300,
        atTop: false,
        atBottom: false,
      });
      expect(await bench.run(scroll, { sessionId, direction: "up", amount: 300 })).toMatchObject({
        y: 0,
        atTop: true,
      });
      expect(await bench.run(scroll, { sessionId, direction: "bottom" })).toMatchObject({
        atBottom: true,
      });
      expect(await bench.run(scroll, { sessionId, selector: "#box", amount: 100 })).toMatchObject({
        y: 100,
      });
    });

    test("waits for an element, a text and a time", async () => {
      await go("/late");
      expect(await bench.run(wait, { sessionId, type: "selector", value: "#late" })).toMatchObject({
        met: true,
      });
      expect(await bench.run(wait, { sessionId, type: "text", value: "arrived" })).toMatchObject({
        met: true,
      });
      expect(await bench.run(wait, { sessionId, type: "timeout", value: 20 })).toMatchObject({
        met: true,
      });
    });

    test("what does not happen in time is met:false", async () => {
      await go("/form");
      expect(await bench.run(wait, { sessionId, type: "navigation", value: 100 })).toMatchObject({
        met: false,
      });
    });

    test("a wait without what it needs is refused", async () => {
      for (const type of ["selector", "text", "timeout"])
        expect(await bench.fault(wait, { sessionId, type })).toMatchObject({ code: "BAD_REQUEST" });
    });

    test("a cancel ends a wait at once", async () => {
      const controller = new AbortController();
      const waiting = bench.fault(
        wait,
        { sessionId, type: "timeout", value: 60_000 },
        { signal: controller.signal },
      );
      setTimeout(() => controller.abort("user"), 50);
      expect(await waiting).toMatchObject({ code: "CANCELLED" });
      expect(await go("/form")).toMatchObject({ title: "Form" });
    });
  });

  describe("extract", () => {
    const read = async (more: JsonObject): Promise<unknown> =>
      (await bench.run(extract, { sessionId, ...more }))["data"];

    test("text, html, attributes, links, images and tables", async () => {
      await go("/article");
      expect(await read({})).toContain("Ink & pens");
      expect(await read({ type: "html", selector: "h1" })).toBe("<h1>Ink &amp; pens</h1>");
      expect(await read({ type: "attributes", selector: "img" })).toMatchObject([
        { tag: "img", attributes: { alt: "A dot" } },
      ]);
      expect(await read({ type: "links" })).toEqual([{ text: "back", url: `${site.base}/form` }]);
      expect(await read({ type: "images" })).toMatchObject([
        { alt: "A dot", url: `${site.base}/dot.png` },
      ]);
      expect(await read({ type: "table" })).toEqual([
        {
          caption: "Prices",
          headers: ["Item", "Price"],
          rows: [
            ["Pen", "1.50"],
            ["Ink", "2"],
          ],
        },
      ]);
    });

    test("markdown, made in a box of its own", async () => {
      await go("/article");
      const text = await read({ type: "markdown" });
      expect(text).toContain("**bold**");
      expect(text).toContain(`(${site.base}/form)`);
      expect(text).toMatch(/\| Pen \| 1\.50 \|/);
    });

    test("long texts come in parts", async () => {
      await go("/article");
      const first = await bench.run(extract, { sessionId, maxChars: 10 });
      expect(first).toMatchObject({ truncated: true, nextOffset: 10 });
      const second = await bench.run(extract, { sessionId, offset: 10, maxChars: 100_000 });
      expect(second).toMatchObject({ truncated: false });
      expect(`${first["data"] as string}${second["data"] as string}`).toBe(
        await read({ maxChars: 100_000 }),
      );
      await go("/form");
      expect(await bench.run(extract, { sessionId, type: "links", maxChars: 1 })).toMatchObject({
        truncated: true,
        nextOffset: 1,
      });
    });

    test("a schema is filled from the page", async () => {
      await go("/article");
      const item = {
        type: "object",
        properties: { item: { type: "string" }, price: { type: "number" } },
        required: ["item", "price"],
      };
      const schema = {
        type: "object",
        properties: {
          headline: { type: "string" },
          author: { type: "string" },
          published: { type: "string" },
          prices: { type: "array", items: item },
        },
        required: ["headline", "author", "published", "prices"],
      };
      expect(await read({ schema })).toEqual({
        headline: "Ink & pens",
        author: "Ada",
        published: "2026-01-02",
        prices: [
          { item: "Pen", price: 1.5 },
          { item: "Ink", price: 2 },
        ],
      });
    });

    test("a schema the page does not answer is schema_not_satisfied", async () => {
      const schema = {
        type: "object",
        properties: { isbn: { type: "string" } },
        required: ["isbn"],
      };
      expect(await bench.fault(extract, { sessionId, schema })).toMatchObject({
        reason: "schema_not_satisfied",
        message: expect.stringContaining("/isbn"),
      });
    });

    test("an instruction without a model is provider_not_configured", async () => {
      expect(await bench.fault(extract, { sessionId, instruction: "the price" })).toMatchObject({
        code: "UNAVAILABLE",
        reason: "provider_not_configured",
      });
    });
  });

  describe("screenshot", () => {
    test("a picture comes back as image content and is kept", async () => {
      await go("/form");
      const shot = await bench.run(screenshot, { sessionId });
      expect(shot).toMatchObject({ width: 1280, height: 720, mime: "image/png" });
      const [image] = shot["$content"] as { type: string; data: string; mimeType: string }[];
      expect(image).toMatchObject({ type: "image", mimeType: "image/png" });
      expect(
        Buffer.from(image?.data ?? "", "base64")
          .subarray(1, 4)
          .toString(),
      ).toBe("PNG");
      expect(shot["path"]).toEqual(expect.any(String));
    });

    test("one element, and as jpeg", async () => {
      await go("/form");
      expect(
        await bench.run(screenshot, { sessionId, selector: "h1", format: "jpeg", quality: 30 }),
      ).toMatchObject({
        mime: "image/jpeg",
        width: expect.toSatisfy((width: number) => width > 10 && width <= 1280),
      });
    });

    test("a page that is too high is too_large", async () => {
      await go("/tall");
      expect(await bench.fault(screenshot, { sessionId, fullPage: true })).toMatchObject({
        reason: "too_large",
      });
    });
  });

  test("tabs are opened, listed, switched and closed", async () => {
    const opened = (
      await bench.run(tabs, { sessionId, action: "open", url: `${site.base}/article` })
    )["tabs"] as { tabId: string; active: boolean; title: string }[];
    expect(opened).toHaveLength(2);
    expect(opened.find(({ active }) => active)).toMatchObject({ title: "Article" });
    const [first, second] = opened;
    const switched = (
      await bench.run(tabs, { sessionId, action: "switch", tabId: first?.tabId ?? "" })
    )["tabs"] as typeof opened;
    expect(switched[0]).toMatchObject({ active: true });
    expect(
      (await bench.run(tabs, { sessionId, action: "close", tabId: second?.tabId ?? "" }))["tabs"],
    ).toHaveLength(1);
    expect(await bench.fault(tabs, { sessionId, action: "switch", tabId: "tab99" })).toMatchObject({
      reason: "tab_not_found",
    });
    for (const bad of [
      { action: "switch" },
      { action: "list", tabId: "tab1" },
      { action: "close", tabId: "tab1", url: "https://example.com" },
    ])
      expect(await bench.fault(tabs, { sessionId, ...bad })).toMatchObject({ code: "BAD_REQUEST" });
  });

  describe("sessions", () => {
    const openOne = async (userId: string) =>
      (await bench.run(open, {}, { caller: { userId } }))["sessionId"] as string;

    test("another user's session is answered like one that never was", async () => {
      const words = async (id: string, caller: object) => {
        const { message, ...fault } = await bench.fault(observe, { sessionId: id }, { caller });
        return { ...fault, message: message.replace(id, "…") };
      };
      const never = await words("browser_never", {});
      expect(never).toMatchObject({ code: "NOT_FOUND", reason: "unknown" });
      expect(await words(sessionId, { userId: "mallory" })).toEqual(never);
      expect(await words(sessionId, { tenantId: "other" })).toEqual(never);
      expect(
        await bench.fault(close, { sessionId }, { caller: { userId: "mallory" } }),
      ).toMatchObject({ code: "NOT_FOUND" });
    });

    test("closing hands over downloads under harmless names, and a second close is a success", async () => {
      const id = (await bench.run(open, { url: `${site.base}/form` }))["sessionId"] as string;
      await bench.run(click, { sessionId: id, selector: "text=File" });
      await bench.run(wait, { sessionId: id, type: "timeout", value: 500 });
      const closed = await bench.run(close, { sessionId: id });
      const [download] = closed["downloads"] as { path: string; bytes: number }[];
      expect(download).toMatchObject({
        bytes: 10,
        path: expect.stringMatching(/^\$SCRATCH\/downloads\/[^/]*re port\.txt$/),
      });
      expect((await bench.run(read, { path: download?.path ?? "" }))["content"]).toBe("downloaded");
      expect(await bench.run(close, { sessionId: id })).toEqual({ closed: false, downloads: [] });
      expect(await bench.fault(observe, { sessionId: id })).toMatchObject({
        reason: "session_closed",
      });
    });

    test("a fourth session of one caller is concurrency; another caller still may", async () => {
      const ids = [await openOne("bob"), await openOne("bob"), await openOne("bob")];
      expect(await bench.fault(open, {}, { caller: { userId: "bob" } })).toMatchObject({
        code: "TOO_MANY_REQUESTS",
        reason: "concurrency",
      });
      for (const id of ids)
        await bench.run(close, { sessionId: id }, { caller: { userId: "bob" } });
      const again = await openOne("bob");
      await bench.run(close, { sessionId: again }, { caller: { userId: "bob" } });
    });

    test("a browser that is killed ends its session, and only that", async () => {
      const before = new Set(ownBrowsers());
      const id = await openOne("carol");
      const waiting = bench.fault(
        wait,
        { sessionId: id, type: "timeout", value: 30_000 },
        { caller: { userId: "carol" } },
      );
      const [pid] = ownBrowsers().filter((one) => !before.has(one));
      expect(pid).toBeDefined();
      process.kill(pid ?? 0, "SIGKILL");
      expect(await waiting).toMatchObject({ code: "EXECUTION_FAILED", reason: "session_closed" });
      expect(
        await bench.fault(observe, { sessionId: id }, { caller: { userId: "carol" } }),
      ).toMatchObject({ reason: "session_closed" });
      expect(await go("/form")).toMatchObject({ title: "Form" });
    });

    test("a first page that does not load leaves no session behind", async () => {
      const before = ownBrowsers().length;
      expect(await bench.fault(open, { url: `${site.base}/break` })).toMatchObject({
        reason: "navigation_failed",
      });
      expect(ownBrowsers()).toHaveLength(before);
    });

    test("a call that is cancelled while the browser starts leaves none", async () => {
      const before = ownBrowsers().length;
      const controller = new AbortController();
      const opening = bench.fault(open, {}, { signal: controller.signal });
      setTimeout(() => controller.abort("user"), 100);
      expect(await opening).toMatchObject({ code: "CANCELLED" });
      await expect.poll(() => ownBrowsers().length, { timeout: 20_000 }).toBe(before);
    });
  });

  test("a session that nobody uses ends, and with the server all of them", async () => {
    const own = await openBench({ flags: { "browser.idleSeconds": "1" } });
    const id = (await own.run(open, {}))["sessionId"] as string;
    await expect
      .poll(
        () =>
          own.fault(observe, { sessionId: id }).then(
            (fault) => fault.reason,
            () => "alive",
          ),
        { timeout: 20_000, interval: 3_000 },
      )
      .toBe("session_closed");
    await own.close();
    const folders = () =>
      readdirSync(tmpdir()).filter((name) => name.startsWith("ostiary-browser-"));
    const second = await openBench();
    const before = { browsers: ownBrowsers().length, folders: folders().length };
    await second.run(open, {});
    expect(ownBrowsers().length).toBeGreaterThan(before.browsers);
    await second.close();
    await expect.poll(() => ownBrowsers().length, { timeout: 20_000 }).toBe(before.browsers);
    expect(folders().length).toBe(before.folders);
  });
});

test("without a browser the tools say what to install", async () => {
  const own = await openBench({ flags: { "browser.executable": "/nowhere/chromium" } });
  try {
    expect(await own.fault(open, {})).toMatchObject({
      code: "UNAVAILABLE",
      reason: "browser_missing",
      remedy: expect.stringContaining("install Chromium"),
    });
  } finally {
    await own.close();
  }
  expect(existsSync(own.root)).toBe(false);
});
