// SIGTERM under load: what was accepted is answered whole, and the server leaves in time.
import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { openCount, type Probe } from "../figure.ts";
import { UNLIMITED } from "./shared.ts";

const ROUNDS = 5;
const CALLERS = 40;
const DRAIN_LIMIT_MS = 30_000;

type Ended = "answered" | "refused" | "cut";

const probe: Probe = async ({ open }) => {
  const target = await open(UNLIMITED);
  const count = openCount("responses");
  let slowest = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
    const ended: Ended[] = [];
    const answered = new Set<string>();
    let isOver = false;
    const before = Number((await target.api("GET", "/executions?limit=1")).body.totalCount);
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!isOver) {
        const { how, id } = await call(target.url, target.adminKey, agent);
        ended.push(how);
        if (id !== null) answered.add(id);
        if (how !== "answered") return;
      }
    });
    for (let turn = 0; turn < 200 && ended.length < CALLERS; turn++) await pause(50);
    const served = ended.length;
    const pid = target.pid;
    const began = performance.now();
    process.kill(pid, "SIGTERM");
    await Promise.all(callers);
    isOver = true;
    while (isThere(pid) && performance.now() - began < DRAIN_LIMIT_MS) await pause(20);
    const took = performance.now() - began;
    slowest = Math.max(slowest, took);
    count.control(served > 0, "nothing was answered before the signal");
    for (const how of ended)
      if (how !== "refused") count.add(how === "cut" ? `round ${round}: an answer was cut` : null);
    count.add(took < DRAIN_LIMIT_MS ? null : `round ${round}: not gone after 30 s`);
    agent.destroy();
    await target.restart();
    const after = Number((await target.api("GET", "/executions?limit=1")).body.totalCount);
    count.add(
      after - before === answered.size
        ? null
        : `round ${round}: ${after - before} calls are on record, ${answered.size} were answered`,
    );
  }
  return count.figure({
    figures: `${ROUNDS} signals, gone after at most ${Math.round(slowest)} ms`,
  });
};
export default probe;

/** Cut: the head of an answer came, or part of it, and not the end. Refused: closed before anything of the answer. */
async function call(
  url: string,
  key: string,
  agent: Agent,
): Promise<{ how: Ended; id: string | null }> {
  const body = JSON.stringify({ name: "system/echo", arguments: { text: "x".repeat(2000) } });
  const sent = request(`${url}/api/v1/executions`, {
    method: "POST",
    agent,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": body.length,
    },
  });
  sent.end(body);
  try {
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    try {
      let text = "";
      for await (const part of response.setEncoding("utf8")) text += part as string;
      if (!response.complete) return { how: "cut", id: null };
      const answer = JSON.parse(text) as { executionId?: string; execution_id?: string };
      return {
        how: response.statusCode === 200 ? "answered" : "refused",
        id:
          response.statusCode === 200
            ? (answer.executionId ?? null)
            : (answer.execution_id ?? null),
      };
    } catch {
      return { how: "cut", id: null };
    }
  } catch {
    return { how: "refused", id: null };
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
