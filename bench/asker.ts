// Quiet callers in a process of their own, so that both sides of the server are measured.
import { spawn } from "node:child_process";
import type { StartedApp } from "../test/fixtures/app.ts";

const ASKER = `
const [url, key, seconds, name] = process.argv.slice(1);
const times = []; let failed = 0;
const until = performance.now() + seconds * 1000;
const body = JSON.stringify({ name, arguments: { text: "hello" } });
const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
async function caller() {
  while (performance.now() < until) {
    const began = performance.now();
    const answer = await fetch(url + "/api/v1/executions", { method: "POST", headers, body });
    const { success } = await answer.json();
    if (answer.status !== 200 || success !== true) failed++;
    
    times.push(performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
await Promise.all([caller(), caller(), caller()]);
times.sort((a, b) => a - b);
console.log(JSON.stringify({ p99: times[Math.floor(times.length * 0.99)], failed, count: times.length }));
`;

export interface Asked {
  readonly p99: number;
  readonly failed: number;
  readonly count: number;
}

/** Three quiet callers of a tool, for so long. */
export function neighbours(
  { url, adminKey }: Pick<StartedApp, "url" | "adminKey">,
  seconds: number,
  tool = "system/echo",
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", ASKER, url, adminKey, String(seconds), tool], { stdio: ["ignore", "pipe", "inherit"] }); // prettier-ignore
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.once("error", reject);
    child.once("close", () => {
      try {
        resolve(JSON.parse(said) as Asked);
      } catch (cause) {
        reject(cause instanceof Error ? cause : new Error(String(cause)));
      }
    });
  });
}
