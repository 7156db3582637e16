import type { Command } from "commander";
import { openBrowser } from "../browser.ts";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";

export function define(command: Command, cli: Cli): void {
  command
    .argument("[id]", "an execution (exec_…); without it the console itself")
    .action(async (id?: string) => {
      if (id !== undefined && !/^exec_\w+$/.test(id))
        throw usage(`expected an execution id, got ${JSON.stringify(id)}`);
      const url = id === undefined ? await signInLink(cli) : `${(await cli.connect()).url}/x/${id}`;
      const opened = cli.term.interactive && !cli.flags.json && openBrowser(url, cli.env);
      if (cli.flags.json) return cli.term.printJson({ url });
      cli.term.print(url);
      if (opened) cli.term.note("opened in the browser");
    });
}

/** Works once, so it is made anew each time. */
async function signInLink(cli: Cli): Promise<string> {
  const api = await cli.connect("admin");
  return (await api.post<{ url: string }>("login-links", {})).url;
}
