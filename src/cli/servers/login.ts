// Logins at upstream servers, from the command line.
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { pathOf } from "./shapes.ts";

const WAIT_MS = 600_000;
const LOOK_EVERY_MS = 1_000;

export function defineLogin(command: Command, cli: Cli): void {
  command
    .command("login <name>")
    .description(
      "log in at a server that wants it: open the link that is printed; waits until you have",
    )
    .option("--no-wait", "print the link and be done")
    .action((name: string, { wait }: { wait: boolean }) => logIn(cli, name, wait));
  command
    .command("logout <name>")
    .description("forget what the login at a server gave")
    .action(async (name: string) => {
      const api = await cli.connect();
      const { removed, revoked } = (
        await api.request<{ removed: boolean; revoked: boolean }>("DELETE", pathOf(name, "/login"))
      ).body;
      if (cli.flags.json) return cli.term.printJson({ removed, revoked });
      if (!removed) return cli.term.note("there was no login");
      cli.term.note(
        revoked
          ? "the login is forgotten, its tokens are revoked"
          : "the login is deleted here; its authorization server could not be notified, so the tokens stay valid until they expire",
      );
    });
}

/** The link comes from another server: it is printed, and never passed to a program that would open it. */
async function logIn(cli: Cli, name: string, wait: boolean): Promise<void> {
  const api = await cli.connect();
  const since = async (): Promise<string | null> =>
    (await api.get<{ since: string | null }>(pathOf(name, "/login"))).since;
  const before = await since();
  const { authorizationUrl } = await api.post<{ authorizationUrl: string }>(
    pathOf(name, "/login"),
    {},
  );
  if (cli.flags.json) return cli.term.printJson({ authorizationUrl });
  cli.term.print(authorizationUrl);
  if (!wait) return;
  cli.term.note("open the link in a browser and log in; waiting for ten minutes");
  for (let waited = 0; waited < WAIT_MS; waited += LOOK_EVERY_MS) {
    await sleep(LOOK_EVERY_MS);
    if ((await since()) !== before) return cli.term.note(`logged in at ${name}`);
  }
  cli.exitCode = 1;
  cli.term.note("nobody has logged in; run the command again for a new link");
}
