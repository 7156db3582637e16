// Figures about the machine and this process; nothing that names the host or its users.
import { availableParallelism } from "node:os";
import type { HostPower } from "../../tools/powers/host.ts";

export interface HostSettings {
  readonly name: string;
  readonly version: string;
  /** The operating mode at the moment of the call. */
  readonly mode: () => string;
}

export function hostPower({ name, version, mode }: HostSettings): HostPower {
  return {
    info: () => ({
      name,
      version,
      node: process.versions.node,
      platform: process.platform,
      arch: process.arch,
      cpus: availableParallelism(),
      uptimeSeconds: Math.round(process.uptime() * 1_000) / 1_000,
      mode: mode(),
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  };
}
