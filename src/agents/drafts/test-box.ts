// Runs the syntax check and the tests of a draft in the sandbox that a call of it would get, but without workspace and
// network. Without a sandbox nothing is run and nothing is stored.
import type { Call, Caller, Json, JsonObject } from "../../contract/call.ts";
import { faultOf } from "../../contract/errors.ts";
import type { ProcessPower } from "../../contract/powers/process.ts";
import type { Tool } from "../../contract/tool.ts";
import { answerOf, jobOf, syntaxFault, syntaxJob } from "../../reach/code/drafted-program.ts";
import type { DraftTest, DraftTestResult } from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { schemaErrors } from "../../util/schema/foreign-schema.ts";
import { invalid, type CheckedDraft } from "./draft-checks.ts";

export interface TestBoxPowers {
  readonly process: (call: Call, signal: AbortSignal) => ProcessPower;
  readonly mask: (text: string) => string;
  readonly ids: Ids;
  readonly now: () => number;
}

export interface TestBox {
  /** Throws with the line of the source that cannot be read, without the program, or when there is no sandbox. */
  checkSyntax(draft: CheckedDraft, on: TestSubject): Promise<void>;
  /** In the order of the tests. Tests for which no time is left are not run. */
  run(draft: CheckedDraft, on: TestSubject): Promise<readonly DraftTestResult[]>;
}

export interface TestSubject {
  readonly caller: Caller;
  /** As it would be registered. */
  readonly tool: Tool;
  readonly signal: AbortSignal;
}

const TEST_MS = 5_000;
/** Time for all tests of a draft; a call of agent/create_tool takes at most twice as long. */
const ALL_TESTS_MS = 25_000;
const SHOWN = 500;

export function createTestBox(p: TestBoxPowers): TestBox {
  const powerFor = (on: TestSubject): ProcessPower => p.process(callOf(on, p), on.signal);
  return {
    async checkSyntax({ program }, on) {
      const power = powerFor(on);
      if (program.kind === "command" && (await power.find(program.command[0] ?? "")) === null)
        throw invalid([
          {
            path: "/config/command/0",
            message: "is no program of the sandbox",
            suggestion: "name one that is installed on the server, without a folder",
          },
        ]);
      const ended = await power.run({
        ...syntaxJob(program),
        workspace: "none",
        timeoutMs: TEST_MS,
      });
      const fault = syntaxFault(program, ended);
      if (fault !== null)
        throw invalid([
          { path: "/config/source", message: `line ${fault.line}: ${p.mask(fault.message)}` },
        ]);
    },
    async run({ program, definition, tests }, on) {
      const power = powerFor(on);
      const until = p.now() + ALL_TESTS_MS;
      const results: DraftTestResult[] = [];
      for (const test of tests) {
        if (p.now() + TEST_MS > until) {
          results.push({ status: "not_run", ms: 0, message: "the time of all tests is up" });
          continue;
        }
        const began = performance.now();
        // When no sandbox is available, all tests stop: that is not a failed test.
        const ended = await power.run({
          ...jobOf(program, test.input, test.files),
          workspace: "none",
          timeoutMs: TEST_MS,
        });
        on.signal.throwIfAborted();
        const ms = Math.round(performance.now() - began);
        const message = ended.timedOut
          ? `took longer than ${TEST_MS / 1_000} s`
          : difference(test, definition.outputSchema, () =>
              answerOf(program, definition.outputSchema, ended),
            );
        results.push(
          message === null
            ? { status: "passed", ms, message }
            : { status: "failed", ms, message: p.mask(message) },
        );
      }
      return results;
    },
  };
}

/** The result where it differs from what the test expects; null: no difference. */
function difference(
  { output, error }: DraftTest,
  outputSchema: JsonObject | null,
  answer: () => Json,
): string | null {
  let came: Json;
  try {
    came = answer();
  } catch (cause) {
    const { message } = faultOf(cause);
    if (error === undefined) return message;
    return message.includes(error)
      ? null
      : `expected an error with ${shown(error)}, got: ${message}`;
  }
  if (error !== undefined) return `expected an error with ${shown(error)}, got ${shown(came)}`;
  const [misfit] = outputSchema === null ? [] : schemaErrors(outputSchema, came);
  if (misfit) return `does not fit outputSchema at ${misfit.path || "/"}: ${misfit.message}`;
  if (output !== undefined && canonicalJson(came) === canonicalJson(output)) return null;
  return `expected ${shown(output ?? null)}, got ${shown(came)}`;
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

/** The sandbox has the packages and limits of the person who drafts or reviews. This is not a call of the tool. */
const callOf = ({ caller, tool, signal }: TestSubject, { ids, now }: TestBoxPowers): Call => ({
  id: ids.execution(now()),
  action: "execute",
  caller,
  requestedName: tool.name,
  tool,
  arguments: {},
  timeoutMs: ALL_TESTS_MS,
  sessionId: null,
  metadata: null,
  idempotencyKey: null,
  entry: "tool",
  ip: null,
  grant: null,
  trace: { traceId: ids.trace(now()), spanId: ids.hex(8) },
  startedAt: now(),
  signal,
  onProgress: null,
  client: null,
});
