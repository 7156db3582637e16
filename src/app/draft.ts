// Engines with draft rules: compiled beside the ones in force, asked a few questions, discarded.
import { AppError } from "../contract/errors.ts";
import type { GovernanceDocuments, Governance } from "../governance/rules/governance.ts";
import { openEmbedded } from "../governance/policy/embedded.ts";
import { createPolicies } from "../governance/policy/policies.ts";
import { SCHEMA_FILE } from "../governance/relations/document.ts";
import { openEmbeddedRelations } from "../governance/relations/embedded/index.ts";
import type { Relations } from "../governance/relations/relation.ts";
import type { Store } from "../storage/store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Engines } from "./engines.ts";

export interface DraftPowers {
  readonly store: Pick<Store, "tuples">;
  readonly relations: Pick<Relations, "engine">;
  readonly registry: Pick<Registry, "all">;
  readonly policyPath: string;
  readonly now: () => number;
  readonly enforced: GovernanceDocuments["enforced"];
  readonly governanceOf: (files: Readonly<Record<string, string>>) => Governance;
}

type Files = Readonly<Record<string, string>>;

export const drafter =
  (p: DraftPowers): Engines["draft"] =>
  async ({ policy, governance, relations }) => ({
    ...(policy ? { policies: await draftPolicies(p, policy) } : {}),
    ...(governance
      ? { governance: p.governanceOf({ ...(await p.enforced("governance")).files, ...governance }) }
      : {}),
    ...(relations ? { relations: await draftRelations(p, relations[SCHEMA_FILE] ?? "") } : {}),
  });

async function draftPolicies(p: DraftPowers, files: Files) {
  const engine = openEmbedded({ path: p.policyPath, now: p.now });
  const inForce = (await p.enforced("policy")).files;
  await engine.load("enforced", { version: "draft", files: replacing(inForce, files) });
  await engine.setTools(
    Object.fromEntries(p.registry.all().map((tool) => [tool.name, { enabled: tool.enabled }])),
  );
  return createPolicies(engine);
}

/** A draft module replaces the modules of its package, whatever their files are called. */
function replacing(inForce: Files, draft: Files): Files {
  const packages = new Set(Object.values(draft).map(packageOf));
  const kept = Object.entries(inForce).filter(
    ([, text]) => packageOf(text) === null || !packages.has(packageOf(text)),
  );
  return { ...Object.fromEntries(kept), ...draft };
}

const packageOf = (text: string): string | null =>
  /^[ \t]*package[ \t]+(\S+)/m.exec(text)?.[1] ?? null;

async function draftRelations(p: DraftPowers, text: string): Promise<Relations> {
  if (p.relations.engine !== "embedded") {
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      "relations: a schema can be tried out only on relationships that are kept here, not in SpiceDB",
      { remedy: "try it with zed validate, or on an installation with embedded relations" },
    );
  }
  return openEmbeddedRelations({
    store: { ...p.store, shared: false },
    now: p.now,
    schema: { load: () => Promise.resolve(text) },
  });
}
