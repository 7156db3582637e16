import type { Command } from "commander";
import { openBrowser } from "./browser.ts";
import type { Cli } from "./cli.ts";
import { usage } from "./fail.ts";

export function define(command: Command, cli: Cli): void {
  command
    .argument("[id]", "an execution (exec_…); without it the console itself")
    .action(async (id?: string) => {
      if (id !== undefined && !/^exec_\w+$/.test(id)) throw usage(`expected an execution id, got ${JSON.stringify(id)}`); // prettier-ignore
      const { url: base } = await cli.connect();
      const url = id === undefined ? `${base}/` : `${base}/x/${id}`;
      const opened = cli.term.interactive && !cli.flags.json && openBrowser(url, cli.env);
      if (cli.flags.json) return cli.term.printJson({ url });
      cli.term.print(url);
      if (opened) cli.term.note("opened in the browser");
    });
}
