// Runs a caller's program; who it runs for and when it must end come from the call.
import type { Call } from "../../../contract/call.ts";
import type { Programs } from "../../../reach/code/programs.ts";
import type { CodePower } from "../../../contract/powers/code.ts";

export const codePower =
  (programs: Pick<Programs, "run">) =>
  ({ caller }: Call, signal: AbortSignal): CodePower => ({
    run: (program) =>
      programs.run({ ...program, owner: `${caller.tenantId} ${caller.userId}`, signal }),
  });
