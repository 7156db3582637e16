// Examples that every command's help ends with; a test asks for each that its words are understood.

export interface Example {
  /** Without the program's name. */
  readonly line: string;
  readonly about: string;
}

export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  serve: [
    { line: "serve", about: "on 127.0.0.1:3100, or the next free port" },
    { line: "serve --port 8080 --no-open", about: "exactly this port, no browser" },
  ],
  connect: [
    { line: "connect", about: "the AI clients that are here" },
    { line: "connect claude-code", about: "write its configuration, with a key of its own" },
    { line: "connect cursor --dry-run", about: "only show what would change" },
  ],
  disconnect: [{ line: "disconnect claude-code", about: "restore its file, revoke its key" }],
  mcp: [{ line: "mcp", about: "the command for MCP clients that start programs" }],
  call: [
    { line: "call system/echo text=hello", about: "values are typed by the tool's schema" },
    { line: "call file/list path=. maxEntries:=5", about: ":= takes JSON" },
    { line: 'call file/read --args \'{"path":"README.md"}\'', about: "all arguments as JSON" },
    { line: "call file/read path=README.md --dry-run", about: "only what the gate would say" },
  ],
  chat: [
    { line: "chat what tools do you have", about: "one message; the answer as it comes" },
    { line: "chat", about: "a conversation; /help lists its commands" },
    { line: "chat --session ses_01k7 --json and then", about: "continue it; the turn as JSON" },
    { line: "chat - --no-wait", about: "the message from stdin; exit 4 where a person must agree" },
  ],
  sessions: [
    { line: "sessions list --search invoices", about: "by words in title or messages" },
    { line: "sessions messages ses_01k7", about: "its messages" },
    { line: "sessions export ses_01k7 --format json --out talk.json", about: "every branch" },
  ],
  plan: [
    {
      line: "plan run plan.yaml",
      about: "{tools: [{name, input}, …]}, or a state with such a plan",
    },
    { line: "plan run - --wait 0 --json", about: "from stdin; waits for no approval" },
  ],
  tools: [
    { line: "tools", about: "what you may use" },
    { line: "tools search calendar", about: "by words in name and description" },
    { line: "tools show file/read", about: "its arguments, risk and figures" },
  ],
  explain: [
    { line: "explain file/read path=/etc/passwd", about: "would this call run, and if not, why" },
    { line: "explain exec_1794964749830_537bxxmnz670", about: "a call that was" },
    { line: "explain --missing --as cli", about: "tools that this user does not see" },
  ],
  runs: [
    { line: "runs list --status failed --since 2h", about: "what went wrong lately" },
    { line: "runs show exec_1794964749830_537bxxmnz670", about: "one execution in full" },
    { line: "runs watch", about: "every change as it happens" },
  ],
  history: [
    { line: "history stats --since 7d", about: "how many, how they ended, how long they took" },
    {
      line: "history list --user '*' --tool file/write",
      about: "of all users, for administrators",
    },
  ],
  mode: [
    { line: "mode", about: "the present mode" },
    { line: "mode LOCKDOWN --reason drill --for 10m", about: "switch, and back by itself" },
  ],
  approvals: [
    { line: "approvals list", about: "calls that wait for a person" },
    { line: "approvals approve apr_01k7 --reason 'as agreed'", about: "this one call is resumed" },
    { line: "approvals deny apr_01k7 --reason 'not today'", about: "the caller reads the reason" },
  ],
  questions: [
    { line: "questions list", about: "what tools ask" },
    { line: "questions answer q_01k7 'the second one'", about: "answer one" },
  ],
  keys: [
    { line: "keys list --user cli", about: "keys of one user" },
    {
      line: "keys create laptop --user ada --level execute_basic --expires 90d",
      about: "its secret is shown once",
    },
    { line: "keys rotate key_cli_1 --overlap 1h", about: "a new secret, the old one for an hour" },
  ],
  whoami: [
    { line: "whoami", about: "whom `ostiary call` acts for" },
    { line: "whoami --admin", about: "whom the commands of administrators act for" },
  ],
  "sign-ins": [
    { line: "sign-ins list", about: "who is signed in to the console" },
    { line: "sign-ins end ses_01k7", about: "end one" },
  ],
  users: [
    { line: "users list", about: "users and their levels" },
    { line: "users create Ada --id ada --plan team", about: "a new user" },
  ],
  capsules: [
    { line: "capsules list", about: "sets of tools that callers hold" },
    { line: "capsules create readers --tools file/read file/list", about: "a new one" },
  ],
  agents: [
    { line: "agents export --out agents.yaml", about: "all of them; keys are left out" },
    { line: "agents import agents.yaml --dry-run", about: "what it would create and change" },
  ],
  personas: [
    { line: 'personas create Critic --prompt "Doubt it."', about: "a new one" },
    { line: "personas list", about: "what agents may adopt" },
  ],
  models: [
    { line: "models add small --provider openai --key-env OPENAI_API_KEY", about: "add one" },
    { line: "models test small", about: "send it a short test request" },
  ],
  preferences: [
    { line: "preferences", about: "show yours" },
    { line: "preferences set theme dark", about: "set one" },
  ],
  servers: [
    { line: "servers add notes https://notes.example/mcp", about: "an MCP server by its address" },
    { line: "servers add files -- npx -y some-server /srv", about: "a program" },
    { line: "servers import ~/.claude.json", about: "all servers of an AI client" },
    { line: "servers approve notes", about: "agree to the tools it offers" },
  ],
  workflows: [
    { line: "workflows apply report.yaml --dry-run", about: "what would change; the gate's word" },
    { line: "workflows run report day=monday --watch", about: "a line for each change of a step" },
    { line: "workflows logs run_01k7 --follow", about: "what happened, until it has ended" },
    { line: "workflows export report --mermaid", about: "a flowchart of its steps" },
  ],
  schedules: [
    { line: "schedules list", about: "which workflows run by the clock, and when next" },
    { line: "schedules pause sch_01k7", about: "run it no more for a while" },
  ],
  webhooks: [
    { line: "webhooks add https://hooks.example/in --events 'approval.*'", about: "be notified" },
    { line: "webhooks deliveries wh_01k7 --state dead", about: "what did not arrive" },
  ],
  relations: [
    { line: "relations check tool:file/read execute user:cli", about: "may this user?" },
    { line: "relations write tool:file/read#executor@user:ada", about: "from now on, yes" },
  ],
  budget: [{ line: "budget show", about: "what is left of this month" }],
  plans: [
    { line: "plans list", about: "what each plan includes" },
    { line: "plans set team --user ada", about: "counted on this user alone" },
  ],
  policy: [
    { line: "policy test my-policies", about: "the tests beside the rules" },
    { line: "policy replay --policy my-policies", about: "which recorded calls would change" },
    { line: "policy publish my-policies --shadow", about: "on trial, without effect" },
  ],
  governance: [
    { line: "governance check my-governance", about: "every fault with its place" },
    { line: "governance publish my-governance", about: "in force from now on" },
  ],
  audit: [
    { line: "audit tail --follow", about: "events as they come" },
    { line: "audit verify", about: "the whole ledger, from the first event on" },
    { line: "audit export --out audit.ndjson", about: "a file that proves itself" },
  ],
  config: [
    { line: "config print --origin", about: "every setting, and where it came from" },
    { line: "config check", about: "faults with their place" },
  ],
  doctor: [
    { line: "doctor", about: "what is missing on this machine" },
    { line: "doctor --fix", about: "install it, after asking" },
  ],
  open: [
    { line: "open", about: "the console" },
    { line: "open exec_1794964749830_537bxxmnz670", about: "one record in it" },
  ],
  api: [
    { line: "api GET /api/v1/tools", about: "any endpoint, with your key" },
    {
      line: 'api PUT /api/v1/mode --data \'{"mode":"ALERT","reason":"drill"}\'',
      about: "a change",
    },
  ],
  completion: [
    { line: "completion bash", about: "for your profile: source <(ostiary completion bash)" },
  ],
  version: [{ line: "version --json", about: "version, build and runtime" }],
};

/** Each example under what it does: lines of commands are too long for columns. */
export function examplesOf(command: string): string {
  const lines = (EXAMPLES[command] ?? []).flatMap(({ line, about }) => [
    `  ostiary ${line}`,
    `      ${about}`,
  ]);
  return lines.length === 0 ? "" : `\nExamples:\n${lines.join("\n")}`;
}
