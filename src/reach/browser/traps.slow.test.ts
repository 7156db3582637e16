// Pages that try to reach inside. Whatever they do, nothing arrives at the traps; what they may do works.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  canBrowse,
  openSite,
  openTraps,
  type Site,
  type Traps,
} from "../../../test/fixtures/browser-site.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import click from "../../tools/browser/click.ts";
import close from "../../tools/browser/close.ts";
import extract from "../../tools/browser/extract.ts";
import navigate from "../../tools/browser/navigate.ts";
import open from "../../tools/browser/open.ts";
import tabs from "../../tools/browser/tabs.ts";
import wait from "../../tools/browser/wait.ts";

let traps: Traps;
let site: Site;
let bench: Bench;
let sessionId: string;

/** A page whose script ends by showing what became of its attempt. */
const attempt = (
  script: string,
) => `<!doctype html><title>trap</title><pre id=out>waiting</pre><script>
const say = (text) => { document.getElementById("out").textContent = "done " + text; };
(async () => { ${script} })().then((x) => say(x ?? "tried"), (e) => say("refused " + e.name));</script>`;

const inside = () => `127.0.0.1:${traps.tcp}`;
const sleep = "await new Promise((r) => setTimeout(r, 700));";

const ATTEMPTS: Record<string, () => string> = {
  fetch: () => `await fetch("http://${inside()}/", { mode: "no-cors" });`,
  "fetch by other spellings of the address": () =>
    `for (const host of ["2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]", "localhost", "a.localhost"]) await fetch("http://" + host + ":${traps.tcp}/", { mode: "no-cors" }).catch(() => 0);`,
  "fetch over TLS": () => `await fetch("https://${inside()}/", { mode: "no-cors" });`,
  "XMLHttpRequest and beacon": () =>
    `navigator.sendBeacon("http://${inside()}/", "x"); const x = new XMLHttpRequest(); x.open("GET", "http://${inside()}/"); x.send(); ${sleep}`,
  WebSocket: () =>
    `for (const scheme of ["ws", "wss"]) { const s = new WebSocket(scheme + "://${inside()}/"); await new Promise((r) => { s.onopen = () => r(); s.onerror = () => r(); }); }`,
  EventSource: () => `new EventSource("http://${inside()}/"); ${sleep}`,
  WebRTC: () =>
    `const p = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${traps.udp}" }, { urls: "turn:127.0.0.1:${traps.tcp}?transport=tcp", username: "u", credential: "c" }] }); p.createDataChannel("x"); await p.setLocalDescription(await p.createOffer()); ${sleep}`,
  "a dedicated worker": () =>
    `const w = new Worker(URL.createObjectURL(new Blob(['fetch("http://${inside()}/",{mode:"no-cors"}).catch(()=>0).then(()=>postMessage(1))']))); await new Promise((r) => { w.onmessage = r; setTimeout(r, 2000); });`,
  "DNS prefetch, preconnect, prefetch and preload": () =>
    `for (const rel of ["dns-prefetch", "preconnect", "prefetch", "preload", "prerender", "modulepreload"]) { const l = document.createElement("link"); l.rel = rel; l.as = "script"; l.href = "http://${inside()}/"; document.head.append(l); } ${sleep}`,
  "images, frames, styles and scripts": () =>
    `for (const tag of ["img", "iframe", "script", "embed", "video"]) { const e = document.createElement(tag); e.src = "http://${inside()}/"; document.body.append(e); } const s = document.createElement("style"); s.textContent = '@import "http://${inside()}/"; body{background:url(http://${inside()}/)}'; document.head.append(s); ${sleep}`,
  "a form in a frame": () =>
    `document.body.insertAdjacentHTML("beforeend", '<iframe name=f></iframe><form id=g method=post target=f action="http://${inside()}/"></form>'); document.getElementById("g").submit(); ${sleep}`,
  "a redirect of a sub-request": () => `await fetch("/redirect-inside", { mode: "no-cors" });`,
  "a popup": () =>
    `window.open("http://${inside()}/"); window.open("file:///etc/passwd"); window.open("chrome://version"); ${sleep}`,
  "a popup that is redirected": () => `window.open("/redirect-inside"); ${sleep}`,
  "speculation rules": () =>
    `const s = document.createElement("script"); s.type = "speculationrules"; s.textContent = JSON.stringify({ prefetch: [{ urls: ["http://${inside()}/"] }], prerender: [{ urls: ["http://${inside()}/"] }] }); document.head.append(s); ${sleep}`,
  "a service worker": () =>
    `const r = await navigator.serviceWorker.register("/worker.js"); await navigator.serviceWorker.ready; await fetch("/through-worker").catch(() => 0); ${sleep}`,
};

const TOP_LEVEL: Record<string, () => string> = {
  "an address inside": () => `http://${inside()}/`,
  "a file": () => "file:///etc/passwd",
  "a page of the browser": () => "chrome://version",
  "a data address": () => "data:text/html,<h1>x",
  "a redirect inside": () => "/redirect-inside",
};

beforeAll(async () => {
  traps = await openTraps();
  const pages = Object.fromEntries(
    Object.entries(ATTEMPTS).map(([name, script]) => [
      `/${encodeURIComponent(name)}`,
      attempt(script()),
    ]),
  );
  site = await openSite({
    ...pages,
    "/": `<title>control</title><p>fine</p>${Object.entries(TOP_LEVEL)
      .map(
        ([name, to]) =>
          `<p><a href="${to()}">${name}</a> <button onclick="location.href='${to()}'">script: ${name}</button></p>`,
      )
      .join("")}<a download href="http://${inside()}/x.bin">download inside</a>`,
    "/control": attempt('const t = await (await fetch("/answer")).text(); return "got " + t;'),
    "/answer": (_req, res) => void res.end("hello"),
    "/redirect-inside": (_req, res) =>
      void res.writeHead(302, { location: `http://${inside()}/` }).end(),
    "/worker.js": (_req, res) =>
      void res
        .setHeader("content-type", "text/javascript")
        .end(
          `self.addEventListener("install", (e) => { self.skipWaiting(); e.waitUntil(fetch("http://${inside()}/", { mode: "no-cors" }).catch(() => 0)); }); self.addEventListener("activate", (e) => e.waitUntil(clients.claim())); self.addEventListener("fetch", (e) => { if (e.request.url.includes("through-worker")) e.respondWith(fetch("http://${inside()}/", { mode: "no-cors" })); });`,
        ),
  });
  bench = await openBench({ rules: { "private: []": `private: ["127.0.0.1:${site.port}"]` } });
  if (canBrowse()) sessionId = (await bench.run(open, {}))["sessionId"] as string;
}, 60_000);
afterAll(async () => {
  if (canBrowse()) await bench.run(close, { sessionId });
  await bench.close();
  await site.close();
  await traps.close();
}, 30_000);

describe.skipIf(!canBrowse())("T48: a page reaches nothing inside", { timeout: 60_000 }, () => {
  beforeEach(() => void (traps.heard.length = 0));

  test("control: what is allowed works", async () => {
    await bench.run(navigate, { sessionId, url: `${site.base}/control` });
    expect(await bench.run(wait, { sessionId, type: "text", value: "done" })).toMatchObject({
      met: true,
    });
    expect(await bench.run(extract, { sessionId, selector: "#out" })).toMatchObject({
      data: "done got hello",
    });
  });

  test.each(Object.keys(ATTEMPTS))("%s", async (name) => {
    await bench.run(navigate, { sessionId, url: `${site.base}/${encodeURIComponent(name)}` });
    expect(await bench.run(wait, { sessionId, type: "text", value: "done" })).toMatchObject({
      met: true,
    });
    expect(traps.heard).toEqual([]);
    const { tabs: open_ } = (await bench.run(tabs, { sessionId, action: "list" })) as unknown as {
      tabs: { tabId: string; url: string }[];
    };
    for (const tab of open_) expect(tab.url).not.toMatch(/^(file|chrome):/);
    for (const tab of open_.slice(1))
      await bench.run(tabs, { sessionId, action: "close", tabId: tab.tabId });
  });

  test.each(Object.keys(TOP_LEVEL))("a link and a script to %s", async (name) => {
    for (const selector of [`text="${name}"`, `text="script: ${name}"`]) {
      await bench.run(navigate, { sessionId, url: `${site.base}/` });
      const url = await bench.run(click, { sessionId, selector }).then(
        (result) => result["url"],
        () => "refused",
      );
      expect(url).not.toMatch(/^(file|chrome|data):/);
      const text = await bench.run(extract, { sessionId }).then(
        (result) => JSON.stringify(result["data"]),
        () => "",
      );
      expect(text).not.toContain("root:");
    }
    expect(traps.heard).toEqual([]);
  });

  test("a download from inside", async () => {
    await bench.run(navigate, { sessionId, url: `${site.base}/` });
    await bench.run(click, { sessionId, selector: "text=download inside" }).catch(() => undefined);
    await bench.run(wait, { sessionId, type: "timeout", value: 500 });
    expect(traps.heard).toEqual([]);
  });
});
