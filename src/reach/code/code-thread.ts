// The thread of one program: an interpreter in WebAssembly that has nothing of Node, and three functions that lead
// out of it. The same source, seed and answers in the same order make the same program: its clock moves with answers.
import { parentPort, workerData } from "node:worker_threads";
import {
  newQuickJSWASMModule,
  type QuickJSContext,
  type QuickJSDeferredPromise,
  type QuickJSHandle,
  type VmCallResult,
} from "quickjs-emscripten";
import type { FailureKind, FromThread, ThreadData, ToThread } from "./messages.ts";
import { PRELUDE } from "./prelude.ts";

const { source, limits, seed, startedAt } = workerData as ThreadData;
const tell = (message: FromThread): void => parentPort?.postMessage(message);

/** Jobs per batch: between two batches the program's processor time is checked. */
const JOBS = 1_000;
const MAX_MESSAGE = 4_000;

const runtime = (await newQuickJSWASMModule()).newRuntime();
runtime.setMemoryLimit(limits.memoryBytes);
runtime.setMaxStackSize(limits.stackBytes);
const vm: QuickJSContext = runtime.newContext();

/** Of this thread alone: a busy machine costs the program nothing. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
const began = cpuMs();
const overworked = (): boolean => cpuMs() - began > limits.workMs;
runtime.setInterruptHandler(overworked);

/** The state of the one program that this thread runs. */
const sofar = {
  waiting: new Map<number, QuickJSDeferredPromise>(),
  calls: 0,
  answered: 0,
  printed: 0,
  at: startedAt,
};

/** A question to the outside: a promise inside, a message outside. */
const question =
  (kind: "call" | "find") =>
  (...given: QuickJSHandle[]): QuickJSHandle => {
    const promise = vm.newPromise();
    const [name = "", json = ""] = given.map((handle) =>
      vm.typeof(handle) === "string" ? vm.getString(handle) : "",
    );
    const refuse = (reason: string, message: string): void =>
      promise.resolve(
        vm.newString(JSON.stringify({ fault: { code: "BAD_REQUEST", reason, message } })),
      );
    if (json === "") refuse("invalid_arguments", "expected arguments that JSON can say");
    else if (json.length > limits.maxArguments)
      refuse(
        "invalid_arguments",
        `arguments: expected at most ${limits.maxArguments} characters, got ${json.length}`,
      );
    else if (sofar.calls >= limits.maxCalls)
      refuse("too_many_calls", `a program makes at most ${limits.maxCalls} calls`);
    else {
      const id = ++sofar.calls;
      sofar.waiting.set(id, promise);
      tell({ kind, id, name, json });
    }
    return promise.handle;
  };

function print(handle: QuickJSHandle): void {
  const room = limits.maxPrinted - sofar.printed;
  const line = vm.getString(handle);
  sofar.printed += line.length + 1;
  if (room > 0) tell({ kind: "printed", line: line.slice(0, room) });
}

function fail(why: FailureKind, message: string): void {
  tell({ kind: "failed", why, message: message.slice(0, MAX_MESSAGE) });
  parentPort?.close();
}

/** The value of a step of this file; null if it threw, and the error becomes the program's failure. */
function valueOf(
  result: VmCallResult<QuickJSHandle>,
  describe?: QuickJSHandle,
): QuickJSHandle | null {
  if (!result.error) return result.value;
  threw(result.error, describe);
  return null;
}

function threw(error: QuickJSHandle, describe?: QuickJSHandle): void {
  const description =
    overworked() || !describe ? null : vm.callFunction(describe, vm.undefined, error);
  if (overworked()) return fail("work", "");
  // Without memory not even an error can be created.
  if (!description || description.error || isNull(error)) return fail("memory", "");
  const message = vm.getString(description.value);
  fail(message.startsWith("InternalError: out of memory") ? "memory" : "threw", message);
}

const isNull = (handle: QuickJSHandle): boolean => vm.sameValue(handle, vm.null);

function begin(): void {
  const outside = [
    vm.newFunction("call", question("call")),
    vm.newFunction("find", question("find")),
    vm.newFunction("print", print),
    vm.newFunction("now", () => vm.newNumber(sofar.at)),
    vm.newString(seed),
  ];
  const prelude = vm.unwrapResult(vm.evalCode(PRELUDE, "prelude.js", { strict: true }));
  const tools = vm.unwrapResult(vm.callFunction(prelude, vm.undefined, ...outside));
  const [stringify, describe] = [vm.getProp(tools, 0), vm.getProp(tools, 1)];
  const program = valueOf(vm.evalCode(`(async () => {${source}\n})()`, "code.js"), describe);
  if (program === null) return;

  const goOn = (): void => {
    while (runtime.hasPendingJob()) {
      const done = runtime.executePendingJobs(JOBS);
      if (done.error) return threw(done.error, describe);
      if (overworked()) return fail("work", "");
    }
    const state = vm.getPromiseState(program);
    if (state.type === "rejected") return threw(state.error, describe);
    if (state.type === "pending") {
      if (sofar.waiting.size === 0) fail("stuck", "");
      else tell({ kind: "idle", answered: sofar.answered });
      return;
    }
    const text = valueOf(vm.callFunction(stringify, vm.undefined, state.value), describe);
    if (text === null) return;
    const json = vm.getString(text);
    if (json.length > limits.maxResult) return fail("too_large", String(json.length));
    tell({ kind: "returned", json });
    parentPort?.close();
  };

  parentPort?.on("message", ({ id, json, at }: ToThread) => {
    const promise = sofar.waiting.get(id);
    sofar.waiting.delete(id);
    if (!promise) return;
    sofar.answered++;
    sofar.at = at;
    promise.resolve(vm.newString(json));
    goOn();
  });
  goOn();
}

begin();
