// What the server advises, in the words of this program: the API's words stay in --json.
import type { CliProblem } from "./fail.ts";

type Rewrite = readonly [RegExp, (problem: Partial<CliProblem>, ...found: string[]) => string];

const REWRITES: readonly Rewrite[] = [
  [
    /POST \/api\/v1\/sessions\/(\S+)\/(stop|reopen)$/,
    (_problem, id = "", verb = "") => `ostiary sessions ${verb} ${id}`,
  ],
  [
    /^list your sessions, or leave sessionId out to begin a new one$/,
    () => "list your sessions: ostiary sessions list, or leave --session out to begin a new one",
  ],
  [
    /GET \/api\/v1\/workflows\/\{workflowId\}\/runs$/,
    () => "ostiary workflows runs <name of the workflow>",
  ],
  [/POST \/api\/v1\/workflow-runs\/\{runId\}\/rerun$/, () => "ostiary workflows rerun <run>"],
  [
    /^list your workflows with workflow\/list$/,
    () => "list your workflows: ostiary workflows list",
  ],
  [
    /^list the tools(?: you may use)?(?: first)?(?::.*)?$/,
    () => "list the tools you may use: ostiary tools",
  ],
  [/^list your executions(?::.*)?$/, () => "list your executions: ostiary runs list"],
  [
    /^list the (?:API )?(\w+)s first$/i,
    (_problem, noun = "") => `list them: ostiary ${noun.toLowerCase()}s list`,
  ],
  [
    /^check the key, or ask an administrator for a new one$/,
    () =>
      "check what --key names; an administrator makes a new one: ostiary keys create <name> --user <id>",
  ],
  [
    /^use the key of an administrator$/,
    () => "use the key of an administrator: --key file:<data directory>/admin.key",
  ],
  [
    /^send `Authorization: Bearer.*$/,
    () => "name a key that is valid: --key env:NAME or --key file:PATH",
  ],
  [
    /^use an API key in the Authorization header$/,
    () => "name a key: --key env:NAME or --key file:PATH",
  ],
  [
    /^look up the request id in the server's log$/,
    ({ request_id }) => `look for ${request_id ?? "the request id"} in the server's log`,
  ],
  [
    /^look up the execution id in the server's log$/,
    ({ execution_id }) => `look for ${execution_id ?? "the execution id"} in the server's log`,
  ],
  [/GET \/api\/v1\/executions\/(exec_\w+)/, (_problem, id = "") => `ostiary runs show ${id}`],
  [/GET \/api\/v1\/history\/rebuild, or /, () => ""],
  [/see \/readyz/, () => "see: ostiary api GET /readyz"],
  [
    /^use a key of level (\w+)(.*)$/,
    (_problem, level = "", rest = "") =>
      `use a key of level ${level}${rest}: ostiary keys create <name> --user <id> --level ${level}`,
  ],
  [
    /^ask an administrator for a key with scope (\S+)$/,
    (_problem, scope = "") =>
      `ask an administrator for a key: ostiary keys create <name> --user <id> --scope ${scope}`,
  ],
  [
    /^wait until the mode changes(.*)$/,
    (_problem, rest = "") => `wait until the mode changes (see: ostiary mode)${rest}`,
  ],
  [
    /^switch to RECOVERY first; (.*)$/,
    (_problem, rest = "") =>
      `switch to RECOVERY first: ostiary mode RECOVERY --reason <text>; ${rest}`,
  ],
];

export function inCliWords(
  remedy: string | undefined,
  problem: Partial<CliProblem> = {},
): string | undefined {
  if (remedy === undefined) return undefined;
  for (const [pattern, rewrite] of REWRITES) {
    const found = pattern.exec(remedy);
    if (found) return remedy.replace(found[0], rewrite(problem, ...found.slice(1)));
  }
  return remedy;
}
