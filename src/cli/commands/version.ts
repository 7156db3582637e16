import type { Command } from "commander";
import { VERSION } from "../../util/version.ts";
import type { Cli } from "../cli.ts";

export function define(command: Command, cli: Cli): void {
  command.action(() => {
    const { version: node, platform, arch } = process;
    const build = import.meta.url.endsWith(".ts") ? "source" : "bundle";
    if (cli.flags.json)
      return cli.term.printJson({ version: VERSION, node, platform, arch, build });
    cli.term.print(`ostiary ${VERSION}  (${build}, Node ${node}, ${platform} ${arch})`);
  });
}
