// The commands whose results the checks are read from. Names are those of the steps of .ci/run.
import type { TestsOf } from "./results.ts";

export interface Source {
  /** What is run; `{json}` is the file its results go to, `{files}` the test files that are asked for. */
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Instead of `env` with --long. */
  readonly longEnv?: Readonly<Record<string, string>>;
}

const npm = (script: string, ...args: string[]): string[] => [
  "npm",
  "run",
  "--silent",
  script,
  "--",
  ...args,
];
const VITEST = ["--reporter=default", "--reporter=json", "--outputFile.json={json}"];

export const SOURCES = {
  test: { command: ["npx", "vitest", "run", "{files}", ...VITEST] },
  services: {
    command: [
      "scripts/services",
      "run",
      "postgres",
      "redis",
      "opa",
      "spicedb",
      "--",
      "npx",
      "vitest",
      "run",
      "--config",
      "vitest.services.config.ts",
      "{files}",
      ...VITEST,
    ],
  },
  "conformance-mcp": { command: npm("conformance:mcp") },
  "conformance-gateway": { command: npm("conformance:mcp", "--gateway") },
  "conformance-client": { command: npm("conformance:mcp", "--client") },
  "conformance-rego": { command: npm("conformance:rego") },
  "conformance-relations": {
    command: ["scripts/services", "run", "spicedb", "--", ...npm("conformance:relations")],
  },
  "agreement-rego": { command: npm("agreement:rego") },
  corpora: { command: npm("corpora:given", "--json", "{json}") },
  faults: {
    command: npm("test:faults", "--json", "{json}"),
    env: { OSTIARY_FAULT_RUNS: "20" },
    longEnv: { OSTIARY_FAULT_RUNS: "200" },
  },
  tamper: { command: npm("test:tamper", "--json", "{json}") },
  attack: { command: npm("attack", "--json", "{json}") },
  bench: { command: npm("bench", "echo", "cancel", "bombs", "--quick", "--json", "{json}") },
  probes: { command: npm("probes", "--json", "{json}") },
} satisfies Record<string, Source>;

export type SourceName = keyof typeof SOURCES;

export function commandOf(source: Source, json: string, tests: readonly TestsOf[]): string[] {
  const files = [...new Set(tests.map(({ file }) => file))];
  return source.command.flatMap((word) =>
    word === "{files}" ? files : [word.replace("{json}", json)],
  );
}
