// T9: documents that discovery finds are a stranger's. Whatever they say, no program is started and no place is asked
// that an authorization server cannot be.
import { createServer, type Server } from "node:http";
import { readdirSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  behindLogin,
  openHouse,
  type CredentialHouse,
} from "../../../../test/fixtures/credentials.ts";
import { AppError } from "../../../contract/errors.ts";

const LIMIT_MS = 60_000;
type Documents = {
  resource: Record<string, unknown>;
  metadata: Record<string, unknown>;
  redirect?: string;
};

let house: CredentialHouse;
let base = "";
let trap = "";
let documents: Documents;
const trapped: string[] = [];
const servers: Server[] = [];

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const good = (): Documents => ({
  resource: { resource: `${base}/mcp`, authorization_servers: [base] },
  metadata: {
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    registration_endpoint: `${base}/register`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
  },
});

beforeAll(async () => {
  house = await openHouse();
  const host = await listening(
    createServer((req, res) => {
      const { pathname } = new URL(req.url ?? "/", "http://x");
      const json = (body: object, status = 200) =>
        res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      if (documents.redirect !== undefined && pathname.includes("oauth-authorization-server"))
        return void res.writeHead(302, { location: documents.redirect }).end();
      if (pathname.includes("oauth-protected-resource")) return void json(documents.resource);
      if (pathname.includes("oauth-authorization-server")) return void json(documents.metadata);
      if (pathname === "/register")
        return void json(
          { client_id: "x", redirect_uris: ["http://127.0.0.1:3100/oauth/callback"] },
          201,
        );
      res
        .writeHead(401, {
          "www-authenticate": `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource"`,
        })
        .end();
    }),
  );
  base = `http://${host}`;
  const trapHost = await listening(
    createServer((req, res) => {
      trapped.push(`${req.method} ${req.url}`);
      res.end();
    }),
  );
  trap = trapHost;
}, LIMIT_MS);
afterAll(async () => {
  await house.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** Children of this process, by what they run. */
function children(): string[] {
  return readdirSync("/proc", { withFileTypes: true })
    .filter(({ name }) => /^\d+$/.test(name))
    .flatMap(({ name }) => {
      try {
        const parent = readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]?.split(" ")[1];
        return Number(parent) === process.pid
          ? [readFileSync(`/proc/${name}/cmdline`, "utf8")]
          : [];
      } catch {
        return [];
      }
    });
}

const login = async (): Promise<string> => {
  try {
    return (await house.credentials.logins.begin(behindLogin(`${base}/mcp`), "owner")).href;
  } catch (cause) {
    if (cause instanceof AppError) return cause.code;
    throw cause;
  }
};

const BAD = [
  "javascript:alert(1)",
  "file:///etc/passwd",
  "data:text/html,x",
  "vbscript:x",
  "ftp://127.0.0.1/x",
  "$(touch /tmp/owned)",
  "`touch /tmp/owned`",
  "https://user:password@auth.example.com/x",
  "http://auth.example.com/x",
  "http://169.254.169.254/latest/meta-data",
  "//evil.example/x",
  "",
];

test(
  "T9: malicious addresses in metadata are refused before anybody is sent there",
  { timeout: LIMIT_MS },
  async () => {
    const before = children();
    let tried = 0;
    for (const address of BAD)
      for (const field of ["authorization_endpoint", "token_endpoint", "registration_endpoint"]) {
        documents = good();
        documents.metadata[field] = address;
        tried++;
        expect([field, address, await login()]).toEqual([field, address, "EXECUTION_FAILED"]);
      }
    expect(tried).toBe(BAD.length * 3);
    expect(children()).toEqual(before);
    documents = good();
    expect(await login()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?/);
  },
);

test(
  "T9 T10: authorization servers and redirects that lead inside are not asked",
  { timeout: LIMIT_MS },
  async () => {
    const before = children();
    const inside = [
      "http://169.254.169.254",
      "http://[::ffff:169.254.169.254]",
      "https://169.254.169.254",
      "https://10.0.0.1",
      "http://192.168.0.1:8080",
      "https://[fd00::1]",
      "http://0.0.0.0:1",
      "file:///etc/passwd",
    ];
    for (const address of inside) {
      documents = good();
      documents.resource["authorization_servers"] = [address];
      expect([address, await login()]).toEqual([
        address,
        expect.stringMatching(/^(EXECUTION_FAILED|FORBIDDEN)$/),
      ]);
      documents = { ...good(), redirect: `${address}/latest/meta-data` };
      expect([address, "redirect", await login()]).toEqual([
        address,
        "redirect",
        expect.stringMatching(/^(EXECUTION_FAILED|FORBIDDEN)$/),
      ]);
    }
    // A redirect to another place, even one that could be reached, is not followed.
    documents = { ...good(), redirect: `http://${trap}/x` };
    expect(await login()).toBe("EXECUTION_FAILED");
    expect([trapped, children()]).toEqual([[], before]);
  },
);

test("a resource that is another server's is refused", { timeout: LIMIT_MS }, async () => {
  documents = good();
  documents.resource["resource"] = "https://elsewhere.example/mcp";
  expect(await login()).toBe("EXECUTION_FAILED");
});
