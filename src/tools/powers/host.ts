/** Figures about the machine and this process; no host name, no user names, no arguments of processes. */
export interface HostPower {
  info(): {
    name: string; version: string; node: string; platform: string; arch: string;
    cpus: number; uptimeSeconds: number; mode: string; timezone: string;
  }; // prettier-ignore
}
