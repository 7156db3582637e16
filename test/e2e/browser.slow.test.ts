// Browser sessions over the wire: who may, what is refused before anything starts, pictures, and what the record keeps.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { browserPage } from "../fixtures/browser-examples.ts";
import { canBrowse, ownBrowsers } from "../fixtures/browser-site.ts";
import { newUser } from "../fixtures/contract.ts";
import { openWeb, type Web } from "../fixtures/web.ts";
import { connect } from "./mcp-clients.ts";

describe.skipIf(!canBrowse())("browser tools", { timeout: 120_000 }, () => {
  let web: Web;
  let house: StartedApp;
  let ann: string;
  let sessionId: string;
  const call = (key: string, name: string, args: object) =>
    house.api("POST", "/executions", { key, body: { name, arguments: args } });

  beforeAll(async () => {
    web = await openWeb({ answer: browserPage });
    house = await startApp({ egress: web.egress });
    ann = await newUser(house, "ann", {
      level: "execute_advanced",
      capsuleId: "all",
      scopes: ["*"],
    });
    const opened = await call(ann, "browser/open", { url: "http://browser.example.org/" });
    expect(opened.body).toMatchObject({
      status: "success",
      result: { title: "Example", status: 200 },
    });
    sessionId = opened.body.result.sessionId as string;
  }, 120_000);
  afterAll(async () => {
    await house.close();
    expect(ownBrowsers()).toEqual([]);
    await web.close();
  }, 60_000);

  test("what one door opened, another uses; a picture is image content there", async () => {
    const { client } = await connect(house.url, ann, "modern");
    const shot = await client.callTool({ name: "browser_screenshot", arguments: { sessionId } });
    expect(shot.content).toEqual([
      { type: "image", data: expect.any(String) as string, mimeType: "image/png" },
    ]);
    expect(shot.structuredContent).toMatchObject({ width: 1280, height: 720 });
    expect(shot.structuredContent).not.toHaveProperty("$content");
    await client.close();
  });

  test("the record tells of a picture and does not keep it", async () => {
    const shot = await call(ann, "browser/screenshot", { sessionId });
    const data = shot.body.result.$content[0].data as string;
    const kept = await house.api("GET", `/executions/${shot.body.executionId as string}`, {
      key: ann,
    });
    expect(data.length).toBeGreaterThan(4_096);
    expect(JSON.stringify(kept.body)).not.toContain(data.slice(0, 1_000));
    const { result, resultMetadata } = kept.body.execution;
    expect(result).toMatchObject({
      mime: "image/png",
      path: expect.any(String) as string,
      $content: [{ type: "text", text: expect.stringContaining("not kept") as string }],
    });
    expect(resultMetadata).toMatchObject({ untrusted: true });
  });

  test("elements come with refs", async () => {
    const seen = await call(ann, "browser/observe", { sessionId });
    expect(seen.body.result.elements).toContainEqual({
      ref: expect.stringMatching(/^ref=/) as string,
      role: "button",
      name: "Save",
      enabled: true,
    });
  });

  test("another user's session is not found", async () => {
    const bob = await newUser(house, "bob", {
      level: "execute_advanced",
      capsuleId: "all",
      scopes: ["*"],
    });
    const asked = await call(bob, "browser/observe", { sessionId });
    expect(asked.body).toMatchObject({
      status: "failed",
      errorCode: "NOT_FOUND",
      errorReason: "unknown",
    });
  });

  test("the gate refuses addresses inside and callers below the level, before a browser moves", async () => {
    for (const url of [
      "http://169.254.169.254/",
      "http://127.0.0.1:9/",
      "file:///etc/passwd",
      "http://localhost/",
    ])
      for (const [name, args] of [
        ["browser/navigate", { sessionId, url }],
        ["browser/open", { url }],
        ["browser/tabs", { sessionId, action: "open", url }],
      ] as const)
        expect([name, url, (await call(ann, name, args)).body]).toEqual([
          name,
          url,
          expect.objectContaining({ code: "FORBIDDEN", reason: "egress_blocked" }),
        ]);
    const low = await newUser(house, "low", {
      level: "execute_basic",
      capsuleId: "all",
      scopes: ["*"],
    });
    expect(
      (await call(low, "browser/click", { sessionId, selector: "button" })).body,
    ).toMatchObject({ reason: "level_too_low" });
    expect((await call(ann, "browser/close", { sessionId })).body).toMatchObject({
      reason: "level_too_low",
    });
  });

  test("a diagram is drawn, its fault told", async () => {
    const drawn = await call(ann, "render_diagram", { source: "flowchart TD\n  A --> B" });
    expect(drawn.body).toMatchObject({ status: "success", result: { mime: "image/svg+xml" } });
    const bad = await call(ann, "ai/render_diagram", { source: "flowchart TD\n  A -->>> [" });
    expect(bad.body).toMatchObject({
      status: "failed",
      errorReason: "diagram_syntax",
      error: expect.stringContaining("line 2") as string,
    });
  });
});
