// All checks one after the other; a server that is asked again meanwhile answers with the examination under way.
import { CHECKS } from "./checks.ts";
import type { DoctorFinding } from "./finding.ts";
import type { Place } from "./place.ts";

export async function examinePlace(place: Place): Promise<DoctorFinding[]> {
  const found: DoctorFinding[] = [];
  for (const check of CHECKS) found.push(...[await check(place)].flat());
  return found;
}

/** They start programs and close a real box, so that one examination at a time is enough. */
export function createExaminer(place: () => Place): () => Promise<readonly DoctorFinding[]> {
  let underWay: Promise<readonly DoctorFinding[]> | null = null;
  return () =>
    (underWay ??= examinePlace(place()).finally(() => {
      underWay = null;
    }));
}
