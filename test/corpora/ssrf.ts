// Every line as the address of the web tools, as a redirect and through the proxy, with a resolver that answers every
// name with an address inside. Whoever dials such an address falls into a trap; the outside world is a local
// stand-in.
import {
  BlockList,
  connect,
  createServer,
  isIP,
  type AddressInfo,
  type Server,
  type Socket,
} from "node:net";
import { duplexPair } from "node:stream";
import type { JsonObject } from "../../src/contract/call.ts";
import { openEgress, type EgressOptions } from "../../src/reach/egress/guard.ts";
import { openWeb, PUBLIC_ADDRESS } from "../fixtures/web.ts";
import type { CorpusResult } from "./corpus.ts";
import { inParallel, openCorpusApp } from "./open-app.ts";

const CONTROLS = [
  "https://github.com/",
  "https://en.wikipedia.org/wiki/Door",
  "http://example.org/robots.txt",
];
const INSIDE = [
  "127.0.0.1",
  "::1",
  "10.0.0.5",
  "169.254.169.254",
  "192.168.1.1",
  "fd00:ec2::254",
  "0.0.0.0",
  "::ffff:127.0.0.1",
  "100.100.100.200",
  "64:ff9b::7f00:1",
];
const CONTROL_EVERY = 200;
const AT_ONCE = 4;

/** Written apart from the product's own judge. */
function insideAddresses(): (address: string) => boolean {
  const v4 = new BlockList();
  for (const [net, bits] of [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["224.0.0.0", 3],
    ["168.63.129.16", 32],
  ] as const)
    v4.addSubnet(net, bits, "ipv4");
  // Of IPv6 only what is global and carries no IPv4 address counts as outside.
  const global = new BlockList();
  global.addSubnet("2000::", 3, "ipv6");
  const carrying = new BlockList();
  for (const [net, bits] of [
    ["2001::", 23],
    ["2002::", 16],
    ["2001:db8::", 32],
    ["3fff::", 20],
  ] as const)
    carrying.addSubnet(net, bits, "ipv6");
  return (address) =>
    isIP(address) === 4
      ? v4.check(address, "ipv4")
      : !global.check(address, "ipv6") || carrying.check(address, "ipv6");
}

export async function run(lines: string[]): Promise<CorpusResult> {
  const isInside = insideAddresses();
  const traps = await openTraps();
  const escaped: string[] = [];
  const inFlight = new Set<string>();
  const controlHosts = new Set(
    [...CONTROLS, "https://redirect.example.org/"].map((url) => new URL(url).hostname),
  );
  const web = await openWeb({
    hosts: [...controlHosts],
    answer(req, res) {
      const to = new URL(`http://x${req.url ?? "/"}`).searchParams.get("to");
      if (!req.headers.host?.startsWith("redirect.") || to === null) return false;
      res.writeHead(302, { location: Buffer.from(to).toString("latin1") }).end();
      return true;
    },
  });
  let asked = 0;
  const egress: EgressOptions = {
    ...web.egress,
    resolve: (host) =>
      Promise.resolve([
        controlHosts.has(host) ? PUBLIC_ADDRESS : (INSIDE[asked++ % INSIDE.length] ?? ""),
      ]),
    connect(to) {
      if (!isInside(to.host)) return web.egress.connect?.(to) as Socket;
      escaped.push(`${to.host}:${to.port} was dialled by one of ${JSON.stringify([...inFlight])}`);
      return connect(traps.port, "127.0.0.1");
    },
  };
  const app = await openCorpusApp({
    egress,
    tools: [[/hosts: \{ policy: ask_new \}/g, "hosts: { policy: public }"]],
  });
  const proxy = openEgress(egress);
  const { governance, registry } = app.app.doors;
  const rules = governance.hostsFor({ tool: registry.get("web/get") ?? null, arguments: {} });
  const say = async (text: string): Promise<string> => {
    const [here, there] = duplexPair();
    proxy.serve(there, { rules, signal: AbortSignal.timeout(20_000) });
    here.on("error", () => undefined).write(text);
    const first = await new Promise<Buffer | null>((resolve) =>
      here.once("data", resolve).once("close", () => resolve(null)),
    );
    here.destroy();
    return first?.toString("latin1") ?? "";
  };

  let files = 0;
  const ok = async (tool: string, input: JsonObject): Promise<boolean> =>
    (await app.call(tool, input)).error === null;
  const through: Record<string, (url: string) => Promise<boolean>> = {
    "web/get": (url) => ok("web/get", { url }),
    "web/fetch": (url) => ok("web/fetch", { url }),
    "web/download": (url) => ok("web/download", { url, path: `got/${files++}` }),
    "a redirect": (url) =>
      ok("web/get", { url: "https://redirect.example.org/", query: { to: url } }),
    "the proxy": async (url) =>
      (await say(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).startsWith(
        "HTTP/1.1 200",
      ),
    CONNECT: async (url) =>
      (await say(`CONNECT ${authorityOf(url)} HTTP/1.1\r\nHost: x\r\n\r\n`)).startsWith(
        "HTTP/1.1 200",
      ),
  };
  const failed: string[] = [];
  let controls = 0;
  const control = async (): Promise<void> => {
    for (const [name, use] of Object.entries(through))
      for (const url of CONTROLS) {
        controls++;
        if (!(await use(url).catch(() => false))) failed.push(`${name} ${url}`);
      }
  };
  let tried = 0;
  try {
    await control();
    for (let at = 0; at < lines.length; at += CONTROL_EVERY) {
      await inParallel(lines.slice(at, at + CONTROL_EVERY), AT_ONCE, async (line) => {
        inFlight.add(line);
        for (const use of Object.values(through)) {
          tried++;
          await use(line).catch(() => false);
        }
        inFlight.delete(line);
      });
    }
    await control();
  } finally {
    await app.close();
    await proxy.close();
    await web.close();
    await traps.close();
  }
  // Connections that came another way than through the guard's own dialler.
  const more = traps.count() - escaped.length;
  for (let at = 0; at < more; at++) escaped.push("a trap was reached behind the guard's back");
  return {
    tried,
    contained: tried - escaped.length,
    escaped,
    controls: { tried: controls, failed },
  };
}

/** The part between // and the path, with a port; the line itself when it has none. */
function authorityOf(url: string): string {
  const authority = /^[a-z+.-]*:?\/\/([^/?#]*)/i.exec(url)?.[1] ?? url;
  return /:\d+$/.test(authority) ? authority : `${authority}:443`;
}

/** Listeners on the inside, and on the ports that everybody tries where they are free. */
async function openTraps() {
  let count = 0;
  const servers: Server[] = [];
  const trap = async (host: string, port: number): Promise<number> => {
    const server = createServer((socket) => {
      count++;
      socket.destroy();
    });
    await new Promise<void>((resolve) =>
      server.once("error", () => resolve()).listen(port, host, resolve),
    );
    if (!server.listening) return 0;
    servers.push(server);
    return (server.address() as AddressInfo).port;
  };
  const port = await trap("127.0.0.1", 0);
  for (const host of ["127.0.0.1", "::1"]) for (const known of [80, 443]) await trap(host, known);
  return {
    port,
    count: () => count,
    async close() {
      for (const server of servers) await new Promise((resolve) => server.close(resolve));
    },
  };
}
