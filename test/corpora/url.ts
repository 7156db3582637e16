// Cases of the URL standard: what the rules match is what is resolved and dialled, over HTTP, CONNECT and the proxy.
// The standard's own answer is the judge: its host or no host at all.
import { duplexPair } from "node:stream";
import { openEgress, type EgressOptions } from "../../src/reach/egress/guard.ts";
import type { EgressRules } from "../../src/reach/egress/egress.ts";
import { openWeb, PUBLIC_ADDRESS } from "../fixtures/web.ts";
import type { CorpusResult } from "./corpus.ts";
import { openCorpusApp } from "./open-app.ts";

/** What should become of a text: this host, or none. */
interface Case {
  readonly given: string;
  readonly host: string | null;
}

const CONTROLS: readonly Case[] = [
  { given: "http://example.org/a", host: "example.org" },
  { given: "http://EXAMPLE.com./b", host: "example.com" },
  { given: "http://xn--bcher-kva.example.org/", host: "xn--bcher-kva.example.org" },
];

export async function run(entries: string[]): Promise<CorpusResult> {
  const cases = entries.flatMap(casesOf);
  const web = await openWeb();
  const asked: string[] = [];
  const dialled: string[] = [];
  const matched: string[] = [];
  const egress: EgressOptions = {
    ...web.egress,
    resolve: (host) => (asked.push(host), Promise.resolve([PUBLIC_ADDRESS])),
    connect: (to) => (dialled.push(to.host), web.egress.connect?.(to) as never),
  };
  const app = await openCorpusApp({ egress });
  const proxy = openEgress(egress);
  const { governance, registry } = app.app.doors;
  const general = governance.hostsFor({ tool: registry.get("web/get") ?? null, arguments: {} });
  // Every host passes, and is noted as the rules saw it.
  const rules: EgressRules = {
    ...general,
    ports: [80, 443],
    policy: "list",
    isAllowed: (host) => matched.push(host) > 0,
  };
  const say = async (text: string): Promise<boolean> => {
    const [here, there] = duplexPair();
    proxy.serve(there, { rules, signal: AbortSignal.timeout(20_000) });
    here.on("error", () => undefined).write(text);
    const first = await new Promise<Buffer | null>((resolve) =>
      here.once("data", resolve).once("close", () => resolve(null)),
    );
    here.destroy();
    return first?.toString("latin1").startsWith("HTTP/1.1 200") ?? false;
  };
  const ways: Record<string, (given: string) => Promise<boolean>> = {
    "web/get": async (url) => (await app.call("web/get", { url })).error === null,
    "the proxy": (url) => say(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    CONNECT: (url) =>
      say(
        `CONNECT ${url.replace(/^https?:\/\//i, "").replace(/[/?#].*$/s, "")}:443 HTTP/1.1\r\nHost: x\r\n\r\n`,
      ),
  };

  const escaped: string[] = [];
  const failed: string[] = [];
  let tried = 0;
  let controls = 0;
  const attempt = async ({ given, host }: Case, way: string): Promise<boolean> => {
    asked.length = dialled.length = matched.length = web.seen.length = 0;
    const reached = (await ways[way]?.(given).catch(() => false)) ?? false;
    const faults = disagreements(host, { asked, dialled, matched });
    for (const fault of faults.slice(0, 1))
      escaped.push(`${way} ${JSON.stringify(given)}: ${fault}`);
    return reached && faults.length === 0;
  };
  try {
    for (const one of CONTROLS)
      for (const way of Object.keys(ways)) {
        controls++;
        if (!(await attempt(one, way))) failed.push(`${way} ${one.given}`);
      }
    for (const one of cases)
      for (const way of Object.keys(ways)) {
        tried++;
        await attempt(one, way);
      }
  } finally {
    await app.close();
    await proxy.close();
    await web.close();
  }
  return {
    tried,
    contained: tried - escaped.length,
    escaped,
    controls: { tried: controls, failed },
  };
}

interface Seen {
  readonly asked: readonly string[];
  readonly dialled: readonly string[];
  readonly matched: readonly string[];
}

function disagreements(host: string | null, { asked, dialled, matched }: Seen): string[] {
  const faults: string[] = [];
  const bare = host?.replace(/^\[|\]$/g, "") ?? null;
  for (const name of asked) if (name !== host) faults.push(`resolved ${name}, expected ${host}`);
  for (const name of matched) if (name !== host) faults.push(`matched ${name}, expected ${host}`);
  for (const address of dialled)
    if (address !== bare && !(address === PUBLIC_ADDRESS && asked.length > 0))
      faults.push(`dialled ${address}, expected ${host}`);
  return faults;
}

/**
 * Entries of urltestdata (`input`, `base`, parts or `failure`) and of toascii (`input`, `output`); comments are none.
 */
function casesOf(entry: string): Case[] {
  if (!entry.startsWith("{")) return [];
  const one = JSON.parse(entry) as {
    input: string;
    output?: string | null;
    base?: string | null;
    failure?: boolean;
    href?: string;
    hostname?: string;
    protocol?: string;
  };
  const canonical = (host: string): string => host.replace(/\.$/, "");
  if ("output" in one) {
    if (/[/?#@:\\\s]/.test(one.input)) return [];
    return [
      {
        given: `http://${one.input}/`,
        host: one.output == null || one.output === "" ? null : canonical(one.output),
      },
    ];
  }
  const isWeb = one.protocol === "http:" || one.protocol === "https:";
  const host = one.failure !== true && isWeb ? canonical(one.hostname ?? "") : null;
  // Relative to nothing, an input that leans on its base is no URL at all.
  const alone: Case[] = one.base == null ? [{ given: one.input, host }] : [];
  return one.href === undefined || one.href === one.input
    ? alone
    : [...alone, { given: one.href, host }];
}
