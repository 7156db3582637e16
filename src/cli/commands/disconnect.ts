import { readFileSync, rmSync } from "node:fs";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { CLIENTS } from "../../util/ai-clients/clients.ts";
import { entryIn, withoutEntry } from "../connect/edit.ts";
import { clientCalled, placeOf, type ClientPlace } from "../connect/plan.ts";
import { checksum, replaceFile, textAt, type Receipt } from "../connect/receipt.ts";
import { CliError, usage } from "../client/fail.ts";

export function define(command: Command, cli: Cli): void {
  command
    .argument("<clients...>", CLIENTS.map(({ id }) => id).join(", "))
    .option("--scope <scope>", "user, or project: the configuration in this folder", "user")
    .action(async (clients: string[], { scope }: { scope: string }) => {
      if (scope !== "user" && scope !== "project") throw usage("--scope: expected user or project");
      clients.forEach(clientCalled);
      const answers = [];
      for (const id of new Set(clients))
        answers.push(await disconnectOne(cli, await placeOf(cli, id, scope)));
      if (cli.flags.json) cli.term.printJson(answers);
    });
}

async function disconnectOne(cli: Cli, place: ClientPlace): Promise<object> {
  const { client, path, receipts } = place;
  const receipt = receipts.read();
  const file = takenBack(place, receipt);
  if (file === "nothing" && receipt === null) cli.term.note(`${client.title} is not connected`);
  if (file !== "nothing")
    cli.term.note(
      file === "restored"
        ? `${path} is as it was before`
        : `took the entry out of ${path}; the rest had changed and stays`,
    );
  if (receipt === null) return { client: client.id, file, keyRevoked: false };
  const keyRevoked = await revoked(cli, receipt);
  if (keyRevoked) receipts.forget();
  return { client: client.id, file, keyRevoked };
}

function takenBack(
  place: ClientPlace,
  receipt: Receipt | null,
): "restored" | "removed" | "nothing" {
  const { path, receipts } = place;
  const now = textAt(path);
  if (now === null) return "nothing";
  if (receipt?.left === checksum(now)) {
    if (receipt.existed) replaceFile(path, readFileSync(receipts.backupFile, "utf8"));
    else rmSync(path);
    return "restored";
  }
  if (entryIn(place, now) === undefined) return "nothing";
  replaceFile(path, withoutEntry(place, now));
  return "removed";
}

/** Without the server the file is in order all the same; the key is then still to be taken away. */
async function revoked(cli: Cli, { keyId }: Receipt): Promise<boolean> {
  try {
    const admin = await cli.connect("admin");
    await admin.request("DELETE", `keys/${encodeURIComponent(keyId)}`);
    cli.term.note(`key ${keyId} revoked`);
    return true;
  } catch (cause) {
    if (!(cause instanceof CliError)) throw cause;
    if (cause.problem.code === "NOT_FOUND") return true;
    cli.term.warn(`key ${keyId} is not revoked: ${cause.problem.detail}`);
    cli.term.warn(
      `when the server runs, once more: ostiary disconnect, or ostiary keys revoke ${keyId}`,
    );
    cli.exitCode = 1;
    return false;
  }
}
