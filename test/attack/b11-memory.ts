// B11: what one caller can make the server keep in memory and write to the record.
import { readFileSync } from "node:fs";
import type { Attack, Case, Target } from "./attack.ts";
import { member } from "./callers.ts";

/** In MB: the idle server has about a quarter of it. */
const MOST_MB = 1_024;
/** A body may have 4 MiB; the rest is for what stands around it. */
const LARGE = 4_000_000;
const text = (bytes: number): string => "x".repeat(bytes);

const residentMb = (target: Target): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${target.pid}/status`, "utf8"))?.[1]) / 1_024;

const kept = async (target: Target): Promise<string | null> => {
  const mb = residentMb(target);
  if (mb > MOST_MB) return `the server has ${mb.toFixed(0)} MB`;
  const { status } = await target.api("GET", "/whoami");
  return status === 200 ? null : `the administrator was answered with ${status}`;
};

interface Opened {
  readonly statuses: readonly number[];
  close(): void;
}
/** Streams that take some of what comes. */
async function streams(
  target: Target,
  count: number,
  path: string,
  key = target.adminKey,
): Promise<Opened> {
  const ends: AbortController[] = [];
  const statuses: number[] = [];
  for (let at = 0; at < count; at++) {
    const end = new AbortController();
    ends.push(end);
    const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
    const answer = await fetch(`${target.url}${path}`, { headers, signal: end.signal });
    statuses.push(answer.status);
  }
  return { statuses, close: () => ends.forEach((end) => end.abort()) };
}

/** Calls of a caller of its own, one after the other; the statuses. */
const calls = async (
  target: Target,
  count: number,
  body: (index: number) => object,
): Promise<number[]> => {
  const { key } = await member(target);
  const statuses: number[] = [];
  for (let at = 0; at < count; at++)
    statuses.push((await target.api("POST", "/executions", { key, body: body(at) })).status);
  return statuses;
};

const flood = (name: string, body: (index: number) => object): Case => ({
  name,
  async run(target) {
    const statuses = await calls(target, 400, body);
    return statuses.includes(429) ? kept(target) : `400 were let, the last with ${statuses.at(-1)}`;
  },
});

/** However large what is recorded is, a page of it is not. */
const page = (name: string, path: string): Case => ({
  name,
  async run(target) {
    await calls(target, 10, (at) => ({ name: `no/such_${at}`, arguments: { text: text(LARGE) } }));
    await calls(target, 10, () => ({ name: "system/echo", arguments: { text: text(100_000) } }));
    const headers = { authorization: `Bearer ${target.adminKey}` };
    const answer = await fetch(`${target.url}/api/v1${path}`, { headers });
    const bytes = (await answer.arrayBuffer()).byteLength;
    if (answer.status !== 200) return `${path} was answered with ${answer.status}`;
    return bytes > 20_000_000 ? `${path} answered with ${bytes} bytes` : kept(target);
  },
});

const attack: Attack = {
  item: "B11",
  title: "what one caller makes the server remember is bounded",
  cases: [
    {
      name: "61 calls of no tool with 4 MB each, then 20 streams from the start",
      async run(target) {
        await calls(target, 61, () => ({ name: "no/such_tool", arguments: { text: text(LARGE) } }));
        const opened = await streams(target, 20, "/api/v1/events?after=0");
        const held = await kept(target);
        opened.close();
        return held;
      },
    },
    flood("no such tool", (at) => ({ name: `no/such_tool_${at}`, arguments: {} })),
    flood("wrong arguments", () => ({ name: "system/echo", arguments: { nonsense: 1 } })),
    flood("a name that is none", (at) => ({
      name: `system/${"n".repeat(60)}${at}`,
      arguments: {},
    })),
    flood("a path outside", () => ({ name: "file/read", arguments: { path: "/etc/shadow" } })),
    {
      name: "more streams than one caller may have",
      async run(target) {
        const { key } = await member(target);
        const { statuses, close } = await streams(target, 100, "/api/v1/events", key);
        const held = await kept(target);
        close();
        return statuses.includes(429) ? held : "100 streams were opened";
      },
    },
    {
      name: "300 bodies of 4 MB at once, none of them finished",
      async run(target) {
        const { key } = await member(target);
        const end = new AbortController();
        const body = (): ReadableStream =>
          new ReadableStream({ start: (to) => to.enqueue(Buffer.from(`{"name":"${text(LARGE)}`)) });
        const sent = Array.from({ length: 300 }, () =>
          fetch(`${target.url}/api/v1/executions`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: body(),
            duplex: "half",
            signal: end.signal,
          }).then(
            ({ status }) => status,
            () => 0,
          ),
        );
        await new Promise((soon) => setTimeout(soon, 5_000));
        const held = await kept(target);
        end.abort();
        await Promise.all(sent);
        return held;
      },
    },
    {
      name: "a body larger than any may be",
      async run(target) {
        const answer = await target
          .api("POST", "/executions", {
            body: { name: "system/echo", arguments: { text: text(60_000_000) } },
          })
          .catch(() => null);
        return answer === null || answer.status === 413
          ? kept(target)
          : `answered ${answer.status}`;
      },
    },
    page("a page of the history", "/executions?limit=100"),
    page("a page of the log", "/audit?limit=100"),
    page("active executions", "/executions/active"),
    {
      name: "the same 4 MB under 60 idempotency keys",
      async run(target) {
        const statuses = await calls(target, 60, (at) => ({
          name: "system/echo",
          arguments: { text: text(LARGE) },
          idempotencyKey: `k${at}`,
        }));
        // Whatever the tool makes of so much, the server took it in.
        return statuses.includes(413) ? "the body was not taken" : kept(target);
      },
    },
  ],
  control: {
    name: "a call is answered, recorded and streamed",
    async run(target) {
      const { status, body } = await target.call("system/echo", { text: "hello" });
      if (status !== 200) return `answered with ${status}`;
      const found = await target.api("GET", `/executions/${body.executionId}`);
      const { statuses, close } = await streams(target, 1, "/api/v1/events?after=0");
      close();
      return found.status === 200 && statuses[0] === 200 ? null : `${found.status} ${statuses[0]}`;
    },
  },
};
export default attack;
