// Every attack, one line each, loaded only by `npm run attack`:
// `() => import("./a1-git.ts"),`
import type { Attack } from "./attack.ts";

type Load = () => Promise<{ readonly default: Attack }>;

export const ATTACKS: readonly Load[] = [
  () => import("./a1-git.ts"),
  () => import("./a2-data-dir.ts"),
  () => import("./a3-run-list.ts"),
  () => import("./a4-write-approval.ts"),
  () => import("./a5-narrowing.ts"),
  () => import("./a6-revocation.ts"),
  () => import("./a7-dead-run.ts"),
  () => import("./a8-git-tools.ts"),
  () => import("./b9-masking.ts"),
  () => import("./b10-main-thread.ts"),
  () => import("./b11-memory.ts"),
  () => import("./b12-disk.ts"),
  () => import("./b12-connections.ts"),
  () => import("./b13-redaction.ts"),
  () => import("./b14-http.ts"),
];
