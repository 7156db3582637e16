// Secrets in today's forms, by names in any spelling and on command lines: none is in the answer, the history, the
// export, the spans that a collector gets, or the log.
import { setTimeout } from "node:timers/promises";
import { otlpReceiver } from "../fixtures/otlp-receiver.ts";
import { patientHouse } from "../fixtures/open-house.ts";
import type { Attack, Case, Target } from "./attack.ts";

const L = (characters: number): string => "a1B2c3D4e5F6g7H8i9J0".repeat(20).slice(0, characters);
const JWT = `eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJnaXRodWIi${L(40)}.${L(43)}`;
const PATIENCE_MS = 10_000;

/** Its address is a setting of the server, so it is there before. */
const collector = await otlpReceiver();

interface Kept {
  readonly where: string;
  readonly text: string;
}

/** Everything that is kept of one call, or told of it. */
async function keptOf(
  target: Target,
  tool: string,
  args: Record<string, unknown>,
): Promise<readonly Kept[] | string> {
  const { body } = await target.call(tool, args);
  const listed = await target.api("GET", "/executions?limit=1");
  const id = String(body?.executionId ?? listed.body?.executions?.[0]?.id ?? "");
  if (id === "") return `there is no id in ${JSON.stringify(body).slice(0, 200)}`;
  const spans = (): readonly unknown[] => {
    const traces = new Set(
      collector.spans
        .filter(({ attributes }) => attributes["ostiary.execution.id"] === id)
        .map(({ traceId }) => traceId),
    );
    return collector.spans.filter(({ traceId }) => traces.has(traceId));
  };
  const until = performance.now() + PATIENCE_MS;
  while ((spans().length === 0 || !target.said().includes(id)) && performance.now() < until)
    await setTimeout(20);
  if (spans().length === 0) return "no span of the call arrived";
  if (!target.said().includes(id)) return "the log does not name the call";
  const history = await target.api("GET", `/executions/${id}`);
  const exported = await fetch(`${target.url}/api/v1/audit/export`, {
    headers: { authorization: `Bearer ${target.adminKey}` },
  });
  return [
    { where: "answer", text: JSON.stringify(body) },
    { where: "history", text: JSON.stringify(history.body) },
    { where: "export", text: await exported.text() },
    {
      where: "spans",
      text: JSON.stringify(spans(), (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      ),
    },
    { where: "log", text: target.said() },
  ];
}

const found = (kept: readonly Kept[] | string, secret: string): string | null => {
  if (typeof kept === "string") return kept;
  const where = kept.filter((one) => one.text.includes(secret)).map((one) => one.where);
  return where.length === 0 ? null : `the secret is in: ${where.join(", ")}`;
};

const masked = (name: string, secret: string, args: Record<string, unknown>): Case => ({
  name,
  run: async (target) => found(await keptOf(target, "no/such_tool", args), secret),
});

/** As argument of a tool that is not there, then as the result of one that is. */
const asToken = (name: string, token: string): Case => ({
  name,
  async run(target) {
    const [end, text] = [token.slice(-20), `use ${token} now`];
    return (
      found(await keptOf(target, "no/such_tool", { text }), end) ??
      found(await keptOf(target, "system/echo", { text }), end)
    );
  },
});

const attack: Attack = {
  item: "B13",
  title: "secrets are masked in today's forms",
  settings: {
    governance: patientHouse(),
    "rateLimit.enabled": "false",
    "log.calls": "all",
    "telemetry.otlp.endpoint": collector.url,
    "telemetry.otlp.delayMs": "10",
    "telemetry.content": "true",
  },
  control: {
    name: "ordinary words stay, on every way",
    async run(target) {
      const plain = "mkdir -p build2024/x; docker run -p 8080:80; pin: npm";
      const kept = await keptOf(target, "system/echo", { text: plain });
      if (typeof kept === "string") return kept;
      // The log says that it was called, and the export has what was kept; neither has to hold the words.
      const missing = kept.filter(
        ({ where, text }) =>
          ["answer", "history", "spans"].includes(where) && !text.includes(plain),
      );
      return missing.length === 0
        ? null
        : `plain text was altered in: ${missing.map(({ where }) => where).join(", ")}`;
    },
  },
  cases: [
    asToken("an installation's token with a web token inside", `ghs_1234567_${JWT}`),
    asToken("an installation's token with parts", `ghs_${L(36)}.${L(24)}-${L(20)}`),
    asToken("a long token of a user", `ghu_${L(180)}`),
    asToken("a routable token", `glpat-${L(27)}.01.${L(20)}`),
    asToken("a project's key", `sk-proj-${L(120)}`),
    masked("several passwords", "kestrel-seven", { passwords: ["kestrel-seven"] }),
    masked("a split name", "kestrel-eight", { "pass-word": "kestrel-eight" }),
    masked("an account's key", "kestrel-nine", { account_key: "kestrel-nine" }),
    masked("a licence", "kestrel-ten", { licenseKey: { of: "kestrel-ten" } }),
    masked("a bearer", "kestrel-eleven", { bearer: "kestrel-eleven" }),
    masked("a PIN", "482913", { pin: 482_913 }),
    masked("a password behind -p", "kestrel12x", { command: "mysql -u root -pkestrel12x db" }),
    masked("a password among arguments", "kestrel13x", { args: ["mysql", "-pkestrel13x"] }),
    masked("a program beside its arguments", "kestrel14x", {
      command: "sshpass",
      args: ["-p", "kestrel14x", "ssh"],
    }),
    masked("user and password", "kestrel15x", { command: "curl -u bob:kestrel15x https://x" }),
    masked("a variable", "kestrelx", { script: "PGPASSWORD=kestrelx psql" }),
  ],
};
export default attack;
