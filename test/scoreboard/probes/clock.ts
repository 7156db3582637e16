// A clock that jumps: keys, sign-in links and durations. The clock of the process cannot be moved, so it is given.
import { openCount, type Probe } from "../figure.ts";
import { startApp } from "../../fixtures/app.ts";
import { seeded } from "./shared.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const JUMPS = 60;

const probe: Probe = async ({ seed }) => {
  const count = openCount("cases");
  const random = seeded(seed);
  const skew = { ms: 0, jitter: 0 };
  const app = await startApp({
    now: () => Date.now() + skew.ms + Math.round((random() - 0.5) * skew.jitter),
    flags: { "rateLimit.enabled": "false" },
  });
  try {
    const keyUntil = async (ms: number) =>
      (
        await app.api("POST", "/keys", {
          body: {
            userId: "owner",
            name: "k",
            scopes: ["*"],
            expiresAt: new Date(Date.now() + skew.ms + ms).toISOString(),
          },
        })
      ).body.secret as string;
    const works = async (key: string) => (await app.api("GET", "/whoami", { key })).status === 200;
    const short = await keyUntil(HOUR / 2);
    count.control(await works(short), "a key before its end is refused");
    for (const jump of [HOUR, DAY, 2 * DAY, HOUR]) {
      skew.ms = jump;
      count.add((await works(short)) ? `a key of half an hour works ${jump / HOUR} h later` : null);
    }
    for (const jump of [-HOUR, -DAY]) {
      skew.ms = jump;
      const made = await keyUntil(HOUR / 2);
      count.control(
        await works(made),
        `a new key is refused while the clock is ${jump / HOUR} h back`,
      );
      skew.ms = 0;
      count.add(
        (await works(made)) ? `a key made ${-jump / HOUR} h back works after its end` : null,
      );
    }
    for (const jump of [HOUR, DAY]) {
      skew.ms = 0;
      const link = await app.app.loginUrl();
      skew.ms = jump;
      const { status } = await fetch(link, { redirect: "manual" });
      count.add(status === 303 ? `a sign-in link works ${jump / HOUR} h later` : null);
    }
    skew.ms = 0;
    count.control(
      (await fetch(await app.app.loginUrl(), { redirect: "manual" })).status === 303,
      "a fresh sign-in link is refused",
    );
    // Every look at the clock gives another day.
    skew.jitter = 2 * DAY;
    for (let at = 0; at < JUMPS; at++) {
      const { status, body } = await app.api("POST", "/executions", {
        body: { name: "system/echo", arguments: { text: "x" } },
      });
      const negative = status === 200 && !(Number(body.executionTime) >= 0);
      count.add(negative ? `a call took ${body.executionTime} ms` : null);
    }
    skew.jitter = 0;
    const { body } = await app.api("GET", "/executions?limit=100");
    const kept = (body.items ?? body.executions ?? []) as { executionTime?: number }[];
    count.add(
      kept.some(({ executionTime }) => Number(executionTime) < 0)
        ? "history holds a negative duration"
        : null,
    );
  } finally {
    await app.close();
  }
  return count.figure({ note: "the server's clock is given, over HTTP in one process" });
};
export default probe;
