// JSON that parsers disagree on, through every door: refused, or the same afterwards; and no prototype is touched.
import { performance } from "node:perf_hooks";
import { openCount, type Probe } from "../figure.ts";
import { UNLIMITED } from "./shared.ts";

const DEEP = 100_000;
/** Texts of a value: refused, or the same text comes back. */
const VALUES: Readonly<Record<string, string>> = {
  __proto__: '{"__proto__":{"polluted":1}}',
  "__proto__, escaped": '{"\\u005f_proto__":{"polluted":1}}',
  "constructor.prototype": '{"constructor":{"prototype":{"polluted":1}}}',
  "1e400": "1e400",
  "-1e400": "-1e400",
  "2^53+1": "9007199254740993",
  "-2^53-1": "-9007199254740993",
  "duplicate keys": '{"a":1,"a":2}',
  "duplicate keys, escaped": '{"a":1,"\\u0061":2}',
  "deep arrays": "[".repeat(DEEP) + "]".repeat(DEEP),
  "deep objects": '{"a":'.repeat(DEEP) + "1" + "}".repeat(DEEP),
  "a lone high surrogate": '"\\ud800"',
  "a lone low surrogate": '"\\udc00x"',
  "a lone surrogate as a key": '{"\\ud800":1}',
  NUL: '"\\u0000"',
  NaN: "NaN",
  Infinity: "Infinity",
  "a comment": "1/*x*/",
  toJSON: '{"toJSON":1,"valueOf":2,"then":3}',
};

const probe: Probe = async ({ open }) => {
  const target = await open(UNLIMITED);
  const count = openCount("cases");
  const post = async (path: string, body: string) => {
    const response = await fetch(target.url + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${target.adminKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body,
    });
    return { status: response.status, text: await response.text() };
  };
  const doors: Readonly<Record<string, (name: string, args: string) => ReturnType<typeof post>>> = {
    REST: (name, args) => post("/api/v1/executions", `{"name":"${name}","arguments":${args}}`),
    tRPC: (name, args) => post("/trpc/tools.executeTool", `{"name":"${name}","arguments":${args}}`),
  };
  for (const [door, call] of Object.entries(doors)) {
    const roundTrip = async (key: string, value: string): Promise<string | null> => {
      const stored = await call("memory/store", `{"key":${JSON.stringify(key)},"value":${value}}`);
      if (stored.status >= 500) return `${stored.status}: ${stored.text.slice(0, 200)}`;
      if (stored.status >= 400) return null;
      const got = await call("memory/retrieve", `{"key":${JSON.stringify(key)}}`);
      return got.text.replaceAll(/\s/g, "").includes(`"value":${value.replaceAll(/\s/g, "")}`)
        ? null
        : `taken, and came back as ${got.text.slice(0, 200)}`;
    };
    const began = performance.now();
    const plain = '{"b":[1,2.5,true,null,"text"],"a":{"x":"ü€😀"}}';
    const stored = await call("memory/store", `{"key":"plain","value":${plain}}`);
    const got = await call("memory/retrieve", '{"key":"plain"}');
    count.control(
      stored.status === 200 && got.text.includes("text") && got.text.includes("ü€😀"),
      `${door}: a plain object did not come back: ${stored.text.slice(0, 100)} ${got.text.slice(0, 200)}`,
    );
    for (const [name, value] of Object.entries(VALUES)) {
      const fault = await roundTrip(`odd ${door} ${name}`, value);
      count.add(fault === null ? null : `${door}, ${name}: ${fault}`);
    }
    const clean = await call("system/echo", '{"text":"clean"}');
    count.add(
      clean.status === 200 && !clean.text.includes("polluted")
        ? null
        : `${door}: a prototype was changed`,
    );
    count.add(performance.now() - began < 60_000 ? null : `${door}: took longer than a minute`);
  }
  return count.figure();
};
export default probe;
