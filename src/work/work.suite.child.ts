// Serves `job` on the store it is given until it is killed: prints each item that it begins, and never ends one.
import { openStore } from "../storage/store/store.ts";
import { createEmbeddedWork } from "./embedded.ts";

const [address = "", dataDir = "", leaseMs = "1000"] = process.argv.slice(2);
const store = await openStore(address, { dataDir, instanceId: "child" });
const work = createEmbeddedWork({
  items: store.workItems,
  instanceId: "child",
  now: Date.now,
  report: (message, fields) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
  times: { leaseMs: Number(leaseMs), renewMs: Number(leaseMs) / 3, pollMs: 50 },
});
work.serve("job", async ({ id }) => {
  process.stdout.write(`${id}\n`);
  await new Promise((resolve) => setTimeout(resolve, 600_000));
  return { done: true };
});
