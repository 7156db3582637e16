// Random requests to every endpoint: an answer below 500, and the server lives on. Without a guide by coverage.
import { endpoints } from "../../../src/server/api/index.ts";
import { schemaOf } from "../../../src/server/api/endpoint.ts";
import { openCount, type Probe } from "../figure.ts";
import { echoes, seeded, UNLIMITED } from "./shared.ts";

const EACH = 25;
const ODD = [
  null,
  true,
  0,
  -1,
  1e308,
  9007199254740991,
  "",
  "a",
  "../..",
  "\u0000",
  "💡",
  "%00",
  "some",
  "x".repeat(5000),
  [],
  {},
  [null],
  { a: {} },
  "2026-01-01T00:00:00Z",
  "-1",
  "*",
];
const TEXTS = ODD.filter((odd) => typeof odd === "string" && odd !== "") as string[];

const probe: Probe = async ({ open, seed }) => {
  const target = await open(UNLIMITED);
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const count = openCount("requests");
  count.control(await echoes(target, "before"), "an echo before is refused");
  for (const each of endpoints) {
    // A stream has no end to wait for.
    if (each.path === "/events") continue;
    const names = "input" in each ? fieldsOf(schemaOf(each.input, "input")) : [];
    for (let turn = 0; turn < EACH; turn++) {
      const body = Object.fromEntries(
        [...names, "odd"].filter(() => random() < 0.7).map((name) => [name, pick(ODD)]),
      );
      const path = each.path.replaceAll(/\{\w+\}/g, () =>
        encodeURIComponent(pick(TEXTS).slice(0, 200)),
      );
      const query = each.method === "GET" ? queryOf(body) : "";
      const { status, body: answer } = await target.api(
        each.method,
        path + query,
        each.method === "GET"
          ? {}
          : { body: turn === 0 ? "{" : turn === 1 ? (pick(ODD) ?? null) : body },
      );
      // 503: a stage was too slow on a busy machine, and nothing ran.
      count.add(
        status < 500 || status === 503
          ? null
          : `${each.method} ${path}${query} got ${status}: ${JSON.stringify(body).slice(0, 150)} ${JSON.stringify(answer).slice(0, 150)}`,
      );
    }
  }
  count.control(await echoes(target, "after"), "an echo afterwards is refused");
  count.add(
    /unhandled|uncaught/i.test(target.said()) ? "the server told of an unhandled fault" : null,
  );
  return count.figure({
    figures: `${endpoints.length} endpoints`,
    lacks: `${EACH} random requests each, not an hour, and without a guide by coverage`,
  });
};
export default probe;

function queryOf(fields: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(fields).map(([name, value]): [string, string] => [
    name,
    (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 200),
  ]);
  return `?${new URLSearchParams(texts).toString()}`;
}

function fieldsOf(schema: unknown): string[] {
  const { properties } = schema as { properties?: Record<string, unknown> };
  return Object.keys(properties ?? {});
}
