// Texts that are made to cost much while secrets are looked for in them, by every door; a healthy caller beside them.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { besideHealthy as beside } from "../fixtures/healthy-caller.ts";
import { answer, ECHO, startMcpUpstream } from "../fixtures/mcp-upstream.ts";
import { patientHouse } from "../fixtures/open-house.ts";
import type { Attack, Case } from "./attack.ts";

const CHARACTERS = 3_500_000;
const GOVERNANCE = patientHouse();
const SECRET = "kX9vQ2mZ7pLr4TnB8wYc3HsD6fGj1AeU";

/** A case proves nothing when the text was not taken, and its secret must not come through. */
const judged = (status: number, expected: number, body: unknown): string | null =>
  status !== expected
    ? `answered ${status}, expected ${expected}: ${JSON.stringify(body).slice(0, 200)}`
    : JSON.stringify(body).includes(SECRET)
      ? "the secret came back"
      : null;

const text = (unit: string, characters = CHARACTERS): string =>
  unit.repeat(Math.ceil(characters / unit.length));

/** Ends with a secret, so that something has to be found in it. */
const hostileText = (unit: string, characters?: number): string =>
  `${text(unit, characters)}\ntoken=${SECRET}\n`;

const toNoTool = (name: string, unit: string, characters?: number): Case => ({
  name: `arguments of a tool that does not exist: ${name}`,
  run: (target) =>
    beside(target, async () => {
      const { status, body } = await target.call("no/such_tool", {
        text: hostileText(unit, characters),
      });
      return judged(status, 404, body);
    }),
});

/** As long as an echo takes, and as often as to make up for that. */
const echoed = (name: string, unit: string): Case => ({
  name: `arguments and answer of twenty echoes: ${name}`,
  run: (target) =>
    beside(target, async () => {
      const args = { text: hostileText(unit, 65_000) };
      const all = await Promise.all(
        Array.from({ length: 20 }, () => target.call("system/echo", args)),
      );
      return (
        all.map(({ status, body }) => judged(status, 200, body)).find((one) => one !== null) ?? null
      );
    }),
});

const FILES: Readonly<Record<string, string>> = {
  cookies: "Cookie: a=b; ",
  "web tokens": "eyJaaaaaaaaaaaa.",
  "lines of names": "password:\n",
};
const fileOf = (name: string): string => `${name.replaceAll(" ", "-")}.txt`;

const inFile = (name: string): Case => ({
  name: `a file that is read: ${name}`,
  run: (target) =>
    beside(target, async () => {
      const args = { path: fileOf(name), tailLines: 5_000, maxBytes: 10_000_000 };
      const { status, body } = await target.call("file/read", args);
      if (typeof body?.result?.content !== "string")
        return `the file was not read: ${JSON.stringify(body).slice(0, 200)}`;
      return judged(status, 200, body);
    }),
});

const PAGES: Readonly<Record<string, string>> = {
  "/cookies": "Cookie: a=b; ",
  "/keys": "-----BEGIN PRIVATE KEY-----",
  "/query": "&token=a&",
};
let pages = "";

const onPage = (path: string): Case => ({
  name: `a page that is fetched: ${path}`,
  run: (target) =>
    beside(target, async () => {
      const { status, body } = await target.call("web/get", {
        url: `${pages}${path}`,
        maxBytes: 10_000_000,
      });
      return body?.status === "success"
        ? judged(status, 200, body)
        : `the page was not fetched: ${JSON.stringify(body).slice(0, 200)}`;
    }),
});

const upstreamSays = (name: string, unit: string, server: string): Case => ({
  name: `the answer of a server upstream: ${name}`,
  async run(target) {
    const said = hostileText(unit, 900_000);
    const upstream = await startMcpUpstream({
      behave: {
        echo: ({ id, res }) => answer(res, id, { content: [{ type: "text", text: said }] }),
      },
    });
    try {
      await target.api("POST", "/servers", {
        body: { name: server, transport: { kind: "http", url: upstream.url } },
      });
      const terms = { risk: "safe", effects: "read_only" };
      const approved = await target.api("POST", `/servers/${server}/approve`, { body: { terms } });
      if (approved.status !== 200)
        return `the server was not taken: ${JSON.stringify(approved.body)}`;
      return await beside(target, async () => {
        const { status, body } = await target.call(`${server}/${ECHO.name}`, { text: "x" });
        return upstream.calls(ECHO.name) === 0
          ? `the server was not asked: ${JSON.stringify(body).slice(0, 200)}`
          : judged(status, 200, body);
      });
    } finally {
      await target.api("DELETE", `/servers/${server}`);
      await upstream.close();
    }
  },
});

/** Pages on this machine, which the rules of this run name as the one place inside that may be reached. */
async function startPages(): Promise<void> {
  const server = createServer((req, res) => {
    const unit = PAGES[req.url ?? ""];
    res.writeHead(unit === undefined ? 404 : 200, { "content-type": "text/plain" });
    res.end(unit === undefined ? "" : hostileText(unit, 900_000));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  pages = `http://${place}`;
  const file = join(GOVERNANCE, "tools.yaml");
  const rules = readFileSync(file, "utf8").replace(/^ {2}private: .*$/m, `  private: ["${place}"]`);
  writeFileSync(file, rules);
}

const attack: Attack = {
  item: "B9",
  title: "masking stops nobody",
  alone: true,
  settings: { governance: GOVERNANCE, "rateLimit.enabled": "false" },
  async prepare({ workspace }) {
    for (const [name, unit] of Object.entries(FILES))
      writeFileSync(join(workspace, fileOf(name)), hostileText(unit, 2_000_000), { mode: 0o644 });
    await startPages();
  },
  control: {
    name: "a small call is answered, its secret masked and the rest as it was",
    async run(target) {
      const { status, body } = await target.call("system/echo", {
        text: `before token=${SECRET} after`,
      });
      if (status !== 200) return `an echo got ${status}`;
      const said = String(body?.result?.text);
      return said === "before token=[masked] after" ? null : `it says ${said.slice(0, 100)}`;
    },
  },
  cases: [
    toNoTool("cookies", "Cookie: a=b; "),
    toNoTool("names without values", "token="),
    toNoTool("manifests", "kind: Secret\n data:\n"),
    toNoTool("command lines", "mysql -pa "),
    toNoTool("keys without an end", "-----BEGIN PRIVATE KEY-----"),
    toNoTool("halves of web tokens", "eyJ1"),
    toNoTool("addresses without a host", "https://u:"),
    toNoTool("JSON inside JSON", '\\"password\\":\\"', 2_000_000),
    toNoTool("options of curl", " curl -u -"),
    toNoTool("headers with fields", "Authorization: Digest "),
    toNoTool("tokens that go on", "glc_1"),
    echoed("quotes that open", "password='x\""),
    echoed("cookies", "Cookie: a=b; "),
    {
      name: "twenty-five thousand names",
      run: (target) =>
        beside(target, async () => {
          const names = Object.fromEntries(
            Array.from({ length: 25_000 }, (_, at) => [`pass${at}_key=`, "token="]),
          );
          const { status, body } = await target.call("no/such_tool", names);
          return judged(status, 404, body);
        }),
    },
    {
      name: "one long name",
      run: (target) =>
        beside(target, async () => {
          const { status, body } = await target.call("no/such_tool", {
            [hostileText("Cookie: a=b; ")]: 1,
          });
          return judged(status, 404, body);
        }),
    },
    {
      name: "the name of the tool itself",
      run: (target) =>
        beside(target, async () => {
          const { status, body } = await target.call(hostileText("Cookie: a=b; ", 900_000), {});
          return status < 500 ? judged(status, status, body) : `answered ${status}`;
        }),
    },
    ...Object.keys(FILES).map(inFile),
    ...Object.keys(PAGES).map(onPage),
    upstreamSays("cookies", "Cookie: a=b; ", "hostilecookies"),
    upstreamSays("quotes inside quotes", '\\"password\\":\\"', "hostilequotes"),
  ],
};
export default attack;
