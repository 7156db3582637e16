// Quiet callers in a process of their own, so that both sides of the server are measured.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { StartedApp } from "../test/fixtures/app.ts";

/**
 * Reads how many milliseconds to ask for, answers what each call took; what its own start cost is not of interest.
 * The pauses are short, as the slowest hundredth of few calls says little.
 */
const ASKER = `
import { createInterface } from "node:readline";
const [url, key, name] = process.argv.slice(1);
const body = JSON.stringify({ name, arguments: { text: "hello" } });
const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
async function ask(ms) {
  const times = []; let failed = 0;
  const until = performance.now() + ms;
  async function caller() {
    while (performance.now() < until) {
      const began = performance.now();
      const answer = await fetch(url + "/api/v1/executions", { method: "POST", headers, body });
      const { success } = await answer.json();
      if (answer.status !== 200 || success !== true) failed++;
      times.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  await Promise.all([caller(), caller(), caller()]);
  return { times, failed };
}
await ask(1000);
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await ask(Number(line))));
`;

export interface Asked {
  readonly times: readonly number[];
  readonly failed: number;
}

export interface Asker {
  ask(seconds: number): Promise<Asked>;
  stop(): void;
}

/** Three quiet callers of a tool. */
export function startAsker(
  { url, adminKey }: Pick<StartedApp, "url" | "adminKey">,
  tool = "system/echo",
): Asker {
  const child = spawn(process.execPath, ["--input-type=module", "-e", ASKER, url, adminKey, tool], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(seconds) {
      child.stdin.write(`${seconds * 1000}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error("the asker has ended");
      return JSON.parse(value) as Asked;
    },
    stop: () => void child.kill(),
  };
}

export function p99Of(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

/** What quiet callers wait, for so long. */
export async function neighbours(
  app: Pick<StartedApp, "url" | "adminKey">,
  seconds: number,
  tool?: string,
): Promise<{ readonly p99: number; readonly failed: number; readonly count: number }> {
  const asker = startAsker(app, tool);
  const { times, failed } = await asker.ask(seconds);
  asker.stop();
  return { p99: p99Of(times), failed, count: times.length };
}
