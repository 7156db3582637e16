import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { fields } from "../output/render.ts";

interface Whoami {
  userId: string;
  tenantId: string;
  role: string;
  roles: string[];
  plan: string | null;
  level: string;
  scopes: string[];
  capsuleId: string | null;
  keyId: string | null;
}

export function define(command: Command, cli: Cli): void {
  command
    .option("--admin", "as the commands of administrators ask: with the administrator's key")
    .action(async (options: { admin?: true }) => {
      const api = await cli.connect(options.admin ? "admin" : "caller");
      const who = await api.get<Whoami>("whoami");
      if (cli.flags.json) return cli.term.printJson(who);
      const { userId, tenantId, keyId, capsuleId, ...rest } = who;
      const shown = { user: userId, tenant: tenantId, ...rest, capsule: capsuleId, key: keyId };
      for (const line of fields({ ...shown, server: api.url })) cli.term.print(line);
    });
}
