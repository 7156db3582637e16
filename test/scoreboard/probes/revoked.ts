// A key or a role taken away while calls go on: what begins after the acknowledgement must not run.
import { performance } from "node:perf_hooks";
import { openCount, type Probe } from "../figure.ts";
import { keyFor, UNLIMITED } from "./shared.ts";

const ROUNDS = 20;
const CALLERS = 6;
/** How long they go on calling. */
const AFTER_MS = 150;

const probe: Probe = async ({ open }) => {
  const target = await open(UNLIMITED);
  const count = openCount("calls begun after the acknowledgement");
  const change = (operation: string, relationship: string) =>
    target.api("POST", "/relationships", { body: { changes: [{ operation, relationship }] } });
  for (let round = 0; round < ROUNDS; round++) {
    const user = `user-${round}`;
    const key = await keyFor(target, user);
    const isKey = round % 2 === 0;
    const ran: { began: number; status: number }[] = [];
    const stop = { at: Number.POSITIVE_INFINITY };
    const callers = Array.from({ length: CALLERS }, async () => {
      while (performance.now() < stop.at) {
        const began = performance.now();
        const { status } = await target.call("system/echo", { text: "x" }, { key: key.secret });
        ran.push({ began, status });
      }
    });
    while (ran.length < CALLERS) await new Promise((resolve) => setTimeout(resolve, 5));
    const { status } = isKey
      ? await target.api("DELETE", `/keys/${key.id}`)
      : await change("delete", `tenant:local#member@user:${user}`);
    const acknowledged = performance.now();
    stop.at = acknowledged + AFTER_MS;
    await Promise.all(callers);
    const before = ran.filter(({ began }) => began < acknowledged);
    count.control(
      status < 300 && before.some((one) => one.status === 200),
      `round ${round}: no call ran before, or the change was refused with ${status}`,
    );
    for (const one of ran.filter(({ began }) => began > acknowledged))
      count.add(
        one.status === 200
          ? `round ${round}: ${isKey ? "a key" : "a role"} was used ${(one.began - acknowledged).toFixed(1)} ms after it was gone`
          : null,
      );
  }
  return count.figure({ figures: `${ROUNDS} revocations, ${CALLERS} callers` });
};
export default probe;
