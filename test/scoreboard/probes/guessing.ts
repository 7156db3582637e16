// Guesses at keys and sign-in links: slowed down, all alike, and the right key works beside them.
import { performance } from "node:perf_hooks";
import { openCount, type Probe } from "../figure.ts";
import { keyFor, seeded } from "./shared.ts";

const GUESSES = 10_000;
const AT_ONCE = 20;
/** What may be tried before the brake: 30 a minute by default, in slices. */
const MOST_TRIED = 200;

const probe: Probe = async ({ open, seed }) => {
  const target = await open();
  const random = seeded(seed);
  const { secret } = await keyFor(target, "ann");
  const count = openCount("guesses");
  count.control(
    (await target.api("GET", "/whoami", { key: secret })).status === 200,
    "the right key is refused before",
  );
  const statuses = new Map<number, number>();
  const bodies = new Set<string>();
  /** By half: near the right one, and far from it. */
  const times: [number[], number[]] = [[], []];
  let at = 0;
  const guesser = async (): Promise<void> => {
    while (at < GUESSES) {
      const isNear = at++ % 2 === 0;
      const began = performance.now();
      const answer = await target.api("GET", "/whoami", {
        key: isNear ? near(secret, random) : far(secret, random),
      });
      times[isNear ? 0 : 1].push(performance.now() - began);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 401)
        bodies.add(JSON.stringify({ ...answer.body, instance: "", request_id: "" }));
      count.add(
        answer.status === 401 || answer.status === 429 ? null : `a guess got ${answer.status}`,
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, guesser));
  const tried = statuses.get(401) ?? 0;
  count.add(tried <= MOST_TRIED ? null : `${tried} guesses were looked at`);
  count.add(bodies.size <= 1 ? null : `${bodies.size} different answers to wrong keys`);
  const link = await fetch(`${target.url}/?t=${"a".repeat(43)}`, { redirect: "manual" });
  await link.arrayBuffer();
  count.add(
    link.status === 401 || link.status === 429 ? null : `a guessed sign-in link got ${link.status}`,
  );
  count.control(
    (await target.api("GET", "/whoami", { key: secret })).status === 200,
    "the right key is refused afterwards",
  );
  const [a, b] = times.map((list) => list.sort((x, y) => x - y)[list.length >> 1] ?? 0) as [
    number,
    number,
  ];
  return count.figure({
    figures: `${tried} looked at, ${statuses.get(429) ?? 0} put off; median ${a.toFixed(2)} ms near the key, ${b.toFixed(2)} ms far from it`,
  });
};
export default probe;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const letter = (random: () => number): string =>
  LETTERS[Math.floor(random() * LETTERS.length)] ?? "A";
const near = (secret: string, random: () => number): string => {
  const last = letter(random);
  return (
    secret.slice(0, -2) +
    last +
    (last === secret.at(-2) ? (secret.at(-1) === "A" ? "B" : "A") : letter(random))
  );
};
const far = (secret: string, random: () => number): string =>
  [...secret].map((each, at) => (at < 4 ? each : letter(random))).join("");
