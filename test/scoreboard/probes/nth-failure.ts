// Every use of the store fails once, one by one, over the same short story: what was acknowledged stays true.
import { startApp, type StartedApp } from "../../fixtures/app.ts";
import type { Store } from "../../../src/storage/store/store.ts";
import { openCount, type Probe } from "../figure.ts";

/** So many of the uses at most, spread evenly. */
const MOST_RUNS = 40;

interface Fault {
  /** Fails when so many uses were made; 0: never. */
  at: number;
  uses: number;
  readonly promised: Set<string>;
}

const probe: Probe = async () => {
  const count = openCount("runs with one failure");
  const fault: Fault = { at: 0, uses: 0, promised: new Set() };
  const clean = await story(fault);
  count.control(clean.length === 0, `without a fault: ${clean.join("; ")}`);
  const all = fault.uses;
  const step = Math.max(1, Math.ceil(all / MOST_RUNS));
  for (let at = 1; at <= all; at += step) {
    Object.assign(fault, { at, uses: 0 });
    const broken = await story(fault);
    count.add(broken.length === 0 ? null : `use ${at}: ${broken.join("; ")}`);
  }
  return count.figure({
    figures: `${all} uses of the store`,
    ...(step > 1 ? { lacks: `every ${step}th use fails, not each` } : {}),
    note: "the store is wrapped, over HTTP in one process",
  });
};
export default probe;

/** What is untrue afterwards; a start that is refused keeps every promise. */
async function story(fault: Fault): Promise<string[]> {
  let app: StartedApp;
  try {
    app = await startApp({ wrapStore: (store) => failing(store, fault, "") as Store });
  } catch (error) {
    return fault.at === 0 ? [String(error)] : [];
  }
  try {
    const told: string[] = [];
    const call = async (key: string, text: string): Promise<number> => {
      const { status, body } = await app.api("POST", "/executions", {
        key,
        body: { name: "system/echo", arguments: { text } },
      });
      if (status === 200) told.push(body.executionId as string);
      return status;
    };
    const broken: string[] = [];
    await call(app.adminKey, "one");
    const made = await app.api("POST", "/keys", {
      body: { userId: "owner", name: "k", scopes: ["*"] },
    });
    if (made.status === 201) {
      await call(made.body.secret as string, "two");
      const gone = await app.api("DELETE", `/keys/${made.body.id}`);
      if (gone.status < 300 && (await call(made.body.secret as string, "three")) === 200)
        broken.push("a revoked key was served");
    }
    const uses = fault.uses;
    // What was promised is looked at without a fault.
    const { at } = fault;
    fault.at = 0;
    for (const id of told) {
      const { status, body } = await app.api("GET", `/executions/${id}`);
      if (status !== 200 || !JSON.stringify(body).includes('"success"'))
        broken.push(`${id} was acknowledged and is ${status} ${JSON.stringify(body)}`);
    }
    const { body } = await app.api("POST", "/audit/verify", { body: {} });
    if (body.ok !== true) broken.push(`the ledger: ${JSON.stringify(body.fault ?? body)}`);
    if (at === 0 && told.length !== 2) broken.push(`${told.length} of 2 calls were served`);
    fault.uses = uses;
    return broken;
  } finally {
    fault.at = 0;
    await app.close();
  }
}

/** The store with every function counted, as deep as it goes. */
function failing(target: object, fault: Fault, path: string): unknown {
  const made = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name, object);
      if (made.has(name)) return made.get(name);
      const wrapped = wrap(object, value, `${path}.${String(name)}`, fault);
      if (wrapped !== value) made.set(name, wrapped);
      return wrapped;
    },
  });
}

function wrap(owner: object, value: unknown, path: string, fault: Fault): unknown {
  if (typeof value === "function")
    return (...args: unknown[]): unknown => {
      if (/\.(close|on\w*|subscribe|watch)$/.test(path))
        return Reflect.apply(value as () => unknown, owner, args);
      fault.uses++;
      const isTurn = fault.uses === fault.at;
      if (isTurn && fault.promised.has(path))
        return Promise.reject(new Error("planted: the store is out"));
      if (isTurn) throw new Error("planted: the store is out");
      const result = Reflect.apply(value as () => unknown, owner, args);
      if (result instanceof Promise) fault.promised.add(path);
      return result;
    };
  const isPlain =
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? failing(value, fault, path) : value;
}
