// What a reviewer should check in a draft: uses of network, processes, environment and code made at run time, by line.
// These are only hints: the sandbox limits the program whether or not something is found here.
import type { DraftFinding, DraftProgram, DraftDefinition } from "../../storage/store/store.ts";
import { scan } from "../../reach/upstream/scan/scan.ts";
import { reveal } from "../../reach/upstream/scan/hidden.ts";

type Pattern = readonly [severity: DraftFinding["severity"], pattern: RegExp, message: string];

const NETWORK = "uses the network, which it has only for hosts that the link names";
const PROCESS = "starts other programs; they run in the same sandbox";
const DYNAMIC = "makes code while it runs, which nobody can review";
const ENVIRONMENT = "reads the environment or the machine";
const WRITES = "writes files; only a link that lets it write the workspace keeps them";

const PATTERNS: Readonly<Record<"js" | "python", readonly Pattern[]>> = {
  js: [
    [
      "warning",
      /\bfetch\s*\(|\bWebSocket\b|\bXMLHttpRequest\b|["'`](?:node:)?(?:http2?|https|net|tls|dgram|dns)(?:\/\w+)?["'`]/,
      NETWORK,
    ],
    ["warning", /["'`](?:node:)?(?:child_process|cluster|worker_threads)["'`]/, PROCESS],
    [
      "warning",
      /\beval\s*\(|\bFunction\s*\(|["'`](?:node:)?vm["'`]|\bimport\s*\(\s*[^"'`\s]|\brequire\s*\(\s*[^"'`\s]/,
      DYNAMIC,
    ],
    ["info", /\bprocess\s*\.\s*(?:env|argv|binding)\b|["'`](?:node:)?os["'`]/, ENVIRONMENT],
    [
      "info",
      /\b(?:writeFile|appendFile|createWriteStream|unlink|rmdir|rename|rm)(?:Sync)?\s*\(/,
      WRITES,
    ],
  ],
  python: [
    [
      "warning",
      /\b(?:import|from)\s+(?:socket|ssl|urllib|http|ftplib|smtplib|asyncio|requests|httpx|aiohttp|urllib3)\b/,
      NETWORK,
    ],
    [
      "warning",
      /\b(?:import|from)\s+(?:subprocess|multiprocessing|pty)\b|\bos\s*\.\s*(?:system|popen|exec\w*|spawn\w*|fork\w*)\b/,
      PROCESS,
    ],
    [
      "warning",
      /(?<![\w.])(?:eval|exec|compile|__import__)\s*\(|\b(?:import|from)\s+(?:ctypes|importlib|pickle|marshal)\b/,
      DYNAMIC,
    ],
    ["info", /\bos\s*\.\s*(?:environ|getenv|uname)\b|\b(?:import|from)\s+platform\b/, ENVIRONMENT],
    [
      "info",
      /\bopen\s*\([^)]{0,200}["'][wax]\+?b?["']|\bos\s*\.\s*(?:remove|unlink|rename|rmdir|mkdir)\b|\bshutil\b/,
      WRITES,
    ],
  ],
};

const MAX_FINDINGS = 50;
const LONG_LINE = 500;
const RANK = { danger: 0, warning: 1, info: 2 } as const;

export function findingsOf(draft: {
  readonly name: string;
  readonly definition: DraftDefinition;
  readonly program: DraftProgram;
  readonly tests: number;
  /** Names of the other tools. */
  readonly known: Iterable<string>;
}): readonly DraftFinding[] {
  const { name, definition, program, tests, known } = draft;
  const { description, inputSchema, outputSchema } = definition;
  const told = scan(
    {
      method: "tools/call",
      name,
      title: null,
      description,
      inputSchema,
      outputSchema,
      annotations: null,
      operation: null,
    },
    known,
  ).map(({ severity, path, message }) => ({ severity, path, line: null, message }));
  const untested: DraftFinding[] =
    tests > 0 ? [] : [{ severity: "warning", path: "/tests", line: null, message: "has no tests" }];
  const own =
    program.kind === "code"
      ? inSource(program.source, PATTERNS[program.language])
      : [
          {
            severity: "warning" as const,
            path: "/config/command",
            line: null,
            message: `runs the program ${reveal(program.command[0] ?? "")} of the server's system`,
          },
        ];
  return [...told, ...untested, ...own]
    .sort((a, b) => RANK[a.severity] - RANK[b.severity])
    .slice(0, MAX_FINDINGS);
}

function inSource(source: string, patterns: readonly Pattern[]): DraftFinding[] {
  return source.split("\n").flatMap((text, at) => {
    const place = { path: "/config/source", line: at + 1 };
    const found: DraftFinding[] = patterns
      .filter(([, pattern]) => pattern.test(text))
      .map(([severity, , message]) => ({ ...place, severity, message }));
    if (text.length > LONG_LINE)
      found.push({
        ...place,
        severity: "warning",
        message: `is a line of ${text.length} characters: read it to its end`,
      });
    const plain = text.replace(/[\r\t]/g, "");
    if (reveal(plain) !== plain)
      found.push({
        ...place,
        severity: "danger",
        message: "holds characters that do not show, or letters that pose as others",
      });
    return found;
  });
}
