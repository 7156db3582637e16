// Appends until it is killed, and says what was acknowledged; without an actor it only opens. Started by the store
// suite.
import { writeSync } from "node:fs";
import { openStore } from "./store.ts";

const [address = "", dataDir = "", actor = ""] = process.argv.slice(2);
const store = await openStore(address, { dataDir });
let made = 0;
if (actor === "") {
  await store.close();
  process.exit(0);
}

async function caller(): Promise<void> {
  for (;;) {
    const id = `${actor}-${made++}`;
    const at = Date.now();
    const common = { toolName: "system/echo", category: "system", userId: actor, startTime: at };
    const start = { ...common, status: "running", timeout: 1000, instanceId: actor };
    const end = { ...common, status: "success", endTime: at, executionTime: 1, cancelReason: null };
    const event = { tenantId: "local", at, actor, executionId: id };
    const first = await store.log.append({
      ...event,
      action: "tool.execution.start",
      body: JSON.stringify(start),
    });
    say(`${id} ${first}\n`);
    const second = await store.log.append({
      ...event,
      action: "tool.execution.complete",
      body: JSON.stringify(end),
    });
    say(`${id} ${second}\n`);
  }
}

/** Said before anything else happens; a pipe that is full for the moment is waited for. */
function say(text: string): void {
  for (;;) {
    try {
      writeSync(1, text);
      return;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EAGAIN") throw cause;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

await Promise.all(Array.from({ length: 16 }, caller));
