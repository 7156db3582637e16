// One caller's large or nasty input, and somebody else who calls beside it: the other one must hardly notice.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { besideHealthy } from "../fixtures/healthy-caller.ts";
import { patientHouse } from "../fixtures/open-house.ts";
import type { Attack, Case, Target } from "./attack.ts";

const TIMEOUT_MS = 10_000;
const MIB = 1_048_576;

const list = <T>(length: number, make: (at: number) => T): T[] =>
  Array.from({ length }, (_, at) => make(at));
const filled = (unit: string, length: number): string =>
  unit.repeat(Math.floor(length / unit.length));
const wild = (end: string): string => `**/${"*a".repeat(240)}${end}`;

/** Two of them at once. */
const beside = (target: Target, hostile: () => Promise<string | null>): Promise<string | null> =>
  besideHealthy(target, async () => {
    const [one, other] = await Promise.all([hostile(), hostile()]);
    return one ?? other;
  });

/** Any answer will do, as long as there is one in time. */
const calls = (name: string, tool: string, args: () => Record<string, unknown>): Case => ({
  name,
  run(target) {
    const body = { name: tool, arguments: args(), timeout: TIMEOUT_MS };
    return beside(target, async () => {
      const began = performance.now();
      const { status } = await target.api("POST", "/executions", { body });
      const ms = performance.now() - began;
      if (status === 0 || status >= 500) return `${tool} answered ${status}`;
      return ms > 3 * TIMEOUT_MS
        ? `${tool} ended after ${Math.round(ms)} ms, its deadline was ${TIMEOUT_MS}`
        : null;
    });
  },
});

const sends = (name: string, args: () => string, expected: number): Case => ({
  name,
  run(target) {
    const body = `{"name":"none/none","arguments":${args()}}`;
    const headers = { "content-type": "application/json" };
    return beside(target, async () => {
      const { status } = await target.api("POST", "/executions", { body, headers });
      return status === expected ? null : `answered ${status}, expected ${expected}`;
    });
  },
});

const CASES: readonly Case[] = [
  calls("diff of two files that share no line", "file/diff", () => ({ a: "as.txt", b: "bs.txt" })),
  calls("diff of ten million line feeds", "file/diff", () => ({ a: "feeds.txt", b: "blanks.txt" })),
  calls("diff that ignores blanks of lines of blanks", "file/diff", () => ({
    a: "feeds.txt",
    b: "blanks.txt",
    ignoreWhitespace: true,
  })),
  calls("edit that replaces every line feed fifty times", "file/edit", () => ({
    path: "feeds.txt",
    dryRun: true,
    edits: list(50, (at) => ({
      oldContent: at % 2 === 0 ? "\n\n" : "\n",
      newContent: at % 2 === 0 ? "\n" : "\n\n",
      replaceAll: true,
    })),
  })),
  calls("edit that finds nothing in long lines", "file/edit", () => ({
    path: "long.txt",
    oldContent: "nothing like it",
    newContent: "x",
  })),
  calls("read of ten million lines", "file/read", () => ({ path: "feeds.txt", tailLines: 5_000 })),
  calls("search with a hundred long file patterns", "file/search", () => ({
    pattern: "x",
    path: "names",
    glob: list(50, (at) => wild(String(at))),
    exclude: list(50, (at) => wild(`z${at}`)),
  })),
  calls("list below hundreds of long ignore rules", "file/glob", () => ({
    pattern: wild("b"),
    path: "names",
  })),
  calls("workflow that says one reference a hundred thousand times", "workflow/create", () => ({
    name: "w",
    steps: list(50, (at) => ({
      id: `s${at}`,
      tool: "system/echo",
      input: { text: at === 0 ? "x" : filled(`{{steps.s${at - 1}.output.text}}`, 60_000) },
    })),
  })),
  calls("headers full of secrets that never end", "web/post", () => ({
    url: "https://example.org/",
    headers: Object.fromEntries(list(50, (at) => [`x-${at}`, filled("${secret:a", 8_000)])),
  })),
  calls("a list of numbers where texts belong", "shell/exec", () => ({
    command: list(190_000, () => 1),
  })),
  calls("a parameter whose name has millions of letters", "system/echo", () => ({
    text: "x",
    [filled("a", 3_500_000)]: 1,
  })),
  calls("the hardest sums", "system/calculator", () => ({
    expression: list(90, (at) => `ln(1.${at}1)`)
      .join("*")
      .slice(0, 980)
      .replace(/\*[^*]*$/, ""),
    precision: 50,
  })),
  sends(
    "a body of very many keys",
    () => `{${list(300_000, (at) => `"k${at}":1`).join(",")}}`,
    413,
  ),
  sends("a body of very many numbers", () => `{"a":[${filled("1,", 4_000_000)}1]}`, 413),
  sends("a body of very many empty objects", () => `{"a":[${filled("{},", 4_000_000)}{}]}`, 413),
  sends("a body of brackets that never close", () => `{"a":${filled("[", 4_000_000)}`, 413),
  sends(
    "a long number beside a text of quotation marks",
    () => `{"n":123456789012345678901,"a":"${filled('\\"', 4_000_000)}"}`,
    400,
  ),
  {
    name: "the same body of keys at the door for MCP",
    run(target) {
      const args = list(300_000, (at) => `"k${at}":1`).join(",");
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"system_echo","arguments":{${args}}}}`;
      const headers = {
        authorization: `Bearer ${target.adminKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      return beside(target, async () => {
        const { status } = await fetch(`${target.url}/mcp`, { method: "POST", headers, body });
        return status === 413 ? null : `answered ${status}, expected 413`;
      });
    },
  },
];

const attack: Attack = {
  item: "B10",
  title: "one caller's input beside a healthy one",
  alone: true,
  settings: { governance: patientHouse(), "rateLimit.enabled": "false" },
  prepare({ workspace }) {
    const at = (name: string): string => join(workspace, name);
    const names = at(`names/${list(3, () => "d".repeat(200)).join("/")}`);
    mkdirSync(names, { recursive: true });
    for (let n = 0; n < 100; n++) writeFileSync(join(names, `${"a".repeat(200)}${n}`), "x");
    writeFileSync(at("names/.gitignore"), list(500, (n) => wild(`i${n}`)).join("\n"));
    writeFileSync(at("as.txt"), list(1_200_000, (n) => `a${n}`).join("\n"));
    writeFileSync(at("bs.txt"), list(1_200_000, (n) => `b${n}`).join("\n"));
    writeFileSync(at("feeds.txt"), filled("\n", 10 * MIB));
    writeFileSync(at("blanks.txt"), filled(" \n", 10 * MIB));
    writeFileSync(
      at("long.txt"),
      list(25_000, (n) =>
        list(400, (m) => String.fromCharCode(33 + ((n * 7 + m * m) % 90))).join(""),
      ).join("\n"),
    );
    writeFileSync(at("small-a.txt"), "one\ntwo\nthree\n");
    writeFileSync(at("small-b.txt"), "one\n2\nthree\n");
    for (const name of ["as", "bs", "feeds", "blanks", "long", "small-a", "small-b"])
      chmodSync(at(`${name}.txt`), 0o666);
    return Promise.resolve();
  },
  cases: CASES,
  control: {
    name: "a small diff, and a list of a hundred thousand numbers, are taken",
    async run(target) {
      const diff = await target.call("file/diff", { a: "small-a.txt", b: "small-b.txt" });
      if (diff.body?.result?.diff?.includes("-two\n+2") !== true)
        return `the diff is ${JSON.stringify(diff.body)}`;
      const many = await target.call("memory/store", { key: "k", value: list(100_000, () => 1) });
      return many.body?.status === "success"
        ? null
        : `storing answered ${JSON.stringify(many.body)}`;
    },
  },
};

export default attack;
