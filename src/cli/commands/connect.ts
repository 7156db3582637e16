import type { Command } from "commander";
import { LEVELS, type Level } from "../../contract/call.ts";
import { unifiedDiff } from "../../util/text/unified-diff.ts";
import type { Cli } from "../cli.ts";
import { openApi, type Api } from "../client/client.ts";
import { seenWith, type VisibleTools } from "../connect/check.ts";
import { CLIENTS } from "../../util/ai-clients/clients.ts";
import { snippetOf } from "../../util/ai-clients/snippet.ts";
import { entryIn, withEntry, withoutEntry } from "../connect/edit.ts";
import {
  addressOf,
  clientCalled,
  installed,
  KEY_VARIABLE,
  machineOf,
  placeOf,
  type ClientPlace,
} from "../connect/plan.ts";
import { checksum, replaceFile, textAt, type Receipt } from "../connect/receipt.ts";
import { readKey } from "../client/data-dir.ts";
import { CliError, usage } from "../client/fail.ts";

interface Options {
  scope: string;
  capsule?: string;
  level: string;
  print?: boolean;
  dryRun?: boolean;
}

/** What a level means for the agent that gets the key. */
const MEANS: Readonly<Record<Level, string>> = {
  view_only: "it only sees tools",
  execute_basic: "safe tools only",
  execute_advanced: "safe and moderate tools; dangerous ones are refused",
  admin: "dangerous tools ask a person",
};

export function define(command: Command, cli: Cli): void {
  command
    .argument(
      "[clients...]",
      `${CLIENTS.map(({ id }) => id).join(", ")}; without one: which are here`,
    )
    .option("--scope <scope>", "user, or project: the configuration in this folder", "user")
    .option("--capsule <id>", "the set of tools its key holds (default: the tenant's)")
    .option(
      "--level <level>",
      `what its key may call: ${LEVELS.join(", ")}; with admin, dangerous tools ask a person`,
      "admin",
    )
    .option("--print", "print the entry instead of writing it")
    .option("--dry-run", "show what would change, and change nothing")
    .action(async (clients: string[], options: Options) => {
      if (clients.length === 0) return list(cli);
      if (options.scope !== "user" && options.scope !== "project")
        throw usage("--scope: expected user or project");
      const level = LEVELS.find((one) => one === options.level);
      if (level === undefined) throw usage(`--level: expected one of ${LEVELS.join(", ")}`);
      clients.forEach(clientCalled);
      const answers = [];
      for (const id of new Set(clients))
        answers.push(
          await connectOne(cli, await placeOf(cli, id, options.scope), { ...options, level }),
        );
      if (cli.flags.json) cli.term.printJson(answers);
    });
}

async function list(cli: Cli): Promise<void> {
  const machine = machineOf(cli);
  const here = new Set(installed(machine));
  const rows = await Promise.all(
    CLIENTS.map(async (client) => {
      const place = await placeOf(cli, client.id, "user");
      return {
        client: client.id,
        title: client.title,
        found: here.has(client),
        connected: place.receipts.read() !== null,
        file: place.path,
      };
    }),
  );
  if (cli.flags.json) return cli.term.printJson(rows);
  for (const { client, title, found, connected, file } of rows)
    cli.term.print(
      `${client.padEnd(15)} ${(connected ? "connected" : found ? "found" : "not found").padEnd(10)} ${title.padEnd(15)} ${file}`,
    );
  cli.term.note("connect one: ostiary connect <client>");
}

async function connectOne(
  cli: Cli,
  place: ClientPlace,
  options: Omit<Options, "level"> & { level: Level },
): Promise<object> {
  const { client, path, scope, receipts } = place;
  const { term } = cli;
  // A file that cannot be edited must be reported before a key is made for it.
  const before = textAt(path);
  const present = entryIn(place, before ?? "");
  const admin = await cli.connect("admin");
  if (!options.print && !installed(machineOf(cli)).includes(client))
    term.note(`${client.title} was not found here`);
  if (options.dryRun) return showPlan(cli, place, before, admin.url);
  const { id: keyId, secret, isNew } = await keyFor(place, admin, options);
  const address = addressOf(place, admin.url, secret, cli);
  const entry = client.entry(address);
  const receipt = { client: client.id, keyId, url: admin.url, at: new Date().toISOString() };
  let changed = false;
  if (options.print) {
    receipts.write({ ...receipt, file: null, left: null, existed: before !== null });
    if (!cli.flags.json) term.print(snippetOf(client, entry));
  } else {
    const after = withEntry(place, before ?? "", entry);
    changed = after !== before;
    if (changed) {
      writeEntry(place, { before, after, isPresent: present !== undefined, receipt });
      showDiff(cli, place, before ?? "", after, secret);
      term.note(`wrote ${path}   (backup kept)`);
    } else term.note(`${client.title} is connected already: ${path}`);
  }
  if (isNew) {
    const capsule = options.capsule === undefined ? "" : `, capsule ${options.capsule}`;
    const { level } = options;
    term.note(`user ${client.id}, key ${keyId}${capsule}, level ${level}: ${MEANS[level]}`);
  }
  term.note(whereKeyIs(place, address));
  const [seen, all] = await checked(cli, admin, secret);
  term.note(`✓ connected — protocol ${seen.protocol}, sees ${seen.tools} of ${all.tools} tools`);
  term.note(
    `undo with: ostiary disconnect ${client.id}${scope === "user" ? "" : " --scope project"}`,
  );
  return {
    client: client.id,
    scope,
    file: options.print ? null : path,
    changed,
    keyId,
    protocol: seen.protocol,
    tools: seen.tools,
    ofTools: all.tools,
    ...(options.print ? { entry } : {}),
  };
}

/** `--dry-run`: the entry as it would be written, with the present key if there is one. */
function showPlan(cli: Cli, place: ClientPlace, before: string | null, url: string): object {
  const { client, path, scope, receipts } = place;
  const key = readKey(receipts.keyFile) ?? "ost_…";
  const next = withEntry(place, before ?? "", client.entry(addressOf(place, url, key, cli)));
  showDiff(cli, place, before ?? "", next, key);
  cli.term.note("nothing was changed");
  return { client: client.id, scope, file: path, changed: false, dryRun: true };
}

function writeEntry(
  place: ClientPlace,
  edit: {
    readonly before: string | null;
    readonly after: string;
    /** The file has an entry of ours already. */
    readonly isPresent: boolean;
    readonly receipt: Omit<Receipt, "file" | "left" | "existed">;
  },
): void {
  const { path, receipts } = place;
  const { before, after, isPresent, receipt } = edit;
  const former = receipts.read();
  // The backup of the first entry stays: a later one would contain an entry of ours.
  if (!isPresent || former === null)
    receipts.keep("backup", isPresent ? withoutEntry(place, before ?? "") : (before ?? ""));
  replaceFile(path, after);
  receipts.write({
    ...receipt,
    file: path,
    left: checksum(after),
    existed: !isPresent || former === null ? before !== null : former.existed,
  });
}

function whereKeyIs(
  { client, receipts }: ClientPlace,
  address: ReturnType<typeof addressOf>,
): string {
  if (client.keyInFile) return `its key is in ${receipts.keyFile}, readable by you only`;
  if (address.isReferred)
    return `its key is not in the file; start ${client.title} with ${KEY_VARIABLE} set: export ${KEY_VARIABLE}="$(cat ${receipts.keyFile})"`;
  return `its key is written in that file: keep it to yourself`;
}

function checked(cli: Cli, admin: Api, key: string): Promise<[VisibleTools, VisibleTools]> {
  return Promise.all([seenWith(openApi(admin.url, key, cli)), seenWith(admin)]);
}

interface StoredKey {
  readonly revokedAt: string | null;
  readonly expiresAt: string | null;
  readonly level: string | null;
  readonly capsuleId: string | null;
}

/** The present key if it is valid for this server; else a new one, of a user that represents the client. */
async function keyFor(
  { client, receipts }: ClientPlace,
  admin: Api,
  options: Omit<Options, "level"> & { level: Level },
): Promise<{ id: string; secret: string; isNew: boolean }> {
  const former = receipts.read();
  const kept = readKey(receipts.keyFile);
  if (former !== null && kept !== null && former.url === admin.url) {
    const key = await unlessMissing(() => admin.get<StoredKey>(`keys/${former.keyId}`));
    const isGood =
      key &&
      key.revokedAt === null &&
      (key.expiresAt === null || Date.parse(key.expiresAt) > Date.now());
    const isSame =
      key?.level === options.level &&
      (options.capsule === undefined || key.capsuleId === options.capsule);
    if (isGood && isSame) return { id: former.keyId, secret: kept, isNew: false };
    // Other rights need another key; this one is no longer used.
    if (isGood) await admin.request("DELETE", `keys/${former.keyId}`);
  }
  const user = await unlessMissing(() => admin.get(`users/${client.id}`));
  if (user === null) await admin.post("users", { id: client.id, name: client.title });
  const { id, secret } = await admin.post<{ id: string; secret: string }>("keys", {
    userId: client.id,
    name: client.id,
    level: options.level,
    ...(options.capsule === undefined ? {} : { capsuleId: options.capsule }),
  });
  receipts.keep("key", `${secret}\n`);
  return { id, secret, isNew: true };
}

async function unlessMissing<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof CliError && cause.problem.code === "NOT_FOUND") return null;
    throw cause;
  }
}

/** The key is not shown: screens are shared and copied. */
function showDiff(
  cli: Cli,
  { path }: ClientPlace,
  before: string,
  after: string,
  secret?: string,
): void {
  const masked = (text: string): string =>
    secret === undefined ? text : text.replaceAll(secret, "ost_…");
  const { diff } = unifiedDiff(masked(before), masked(after), { names: [path, path] });
  for (const line of diff.split("\n")) cli.term.note(`  ${line}`);
}
