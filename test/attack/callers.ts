// What attacks on callers share: users with keys, streams, sign-ins, and waiting for something with an end.
import { setTimeout as pause } from "node:timers/promises";
import type { Answer, Target } from "./attack.ts";

let made = 0;

export interface Member {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
}

export async function member(target: Target, more: object = {}): Promise<Member> {
  const id = `m${process.pid}x${++made}`;
  await target.api("POST", "/users", { body: { id, name: id } });
  return further(target, id, more);
}

/** One more key of the same user. */
export async function further(target: Target, id: string, more: object = {}): Promise<Member> {
  const body = { userId: id, name: "k", scopes: ["*"], level: "admin", capsuleId: "all", ...more };
  const answer = await target.api("POST", "/keys", { body });
  const key = answer.body.secret as string;
  const who = await target.api("GET", "/whoami", { key });
  return { id, key, keyId: who.body.keyId as string };
}

export async function capsule(target: Target, capabilities: readonly string[]): Promise<string> {
  const id = `c${process.pid}x${++made}`;
  await target.api("POST", "/capsules", { body: { id, name: id, capabilities } });
  return id;
}

export const start = (
  target: Target,
  { key }: Member,
  name: string,
  args: object,
): Promise<Answer> =>
  target.api("POST", "/executions", { key, body: { name, arguments: args, wait: false } });

export const revoke = (target: Target, { keyId }: Member): Promise<Answer> =>
  target.api("DELETE", `/keys/${keyId}`);

export async function within(
  ms: number,
  holds: () => boolean | Promise<boolean>,
): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await pause(50))
    if (await holds()) return true;
  return holds();
}

export interface Stream {
  readonly status: number;
  readonly headers: Headers;
  text: string;
  ended: boolean;
}

export async function stream(url: string, init: RequestInit): Promise<Stream> {
  const response = await fetch(url, init);
  const read: Stream = {
    status: response.status,
    headers: response.headers,
    text: "",
    ended: false,
  };
  const reading = async (): Promise<void> => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      read.text += Buffer.from(chunk).toString();
  };
  const end = (): void => void (read.ended = true);
  reading().then(end, end);
  return read;
}

export const events = (target: Target, headers: Record<string, string>): Promise<Stream> =>
  stream(`${target.url}/api/v1/events`, { headers });

/** The cookie of a sign-in by a link of this key. */
export async function signIn(target: Target, key?: string): Promise<string> {
  const link = await target.api("POST", "/login-links", { body: {}, ...(key ? { key } : {}) });
  const answer = await fetch(link.body.url as string, { redirect: "manual" });
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}
