// The three governed sets of texts: the same verbs for each.
import { api, type Outputs } from "../../api/client.ts";

export const KINDS = ["policy", "governance", "schema"] as const;
export type Kind = (typeof KINDS)[number];

export type VersionSummary = Outputs["policies"]["listPolicyVersions"]["items"][number];
export type Version = Outputs["policies"]["getPolicyVersion"];
export type FileFault = Outputs["policies"]["checkPolicy"]["faults"][number];
type Page = Outputs["policies"]["listPolicyVersions"];
export type Files = Readonly<Record<string, string>>;

export interface GovernedTexts {
  /** The noun of their cached answers. */
  readonly noun: string;
  readonly label: string;
  readonly lead: string;
  /** The files of a new one end like this. */
  readonly extension: string;
  /** A version may be asked beside the one in force without deciding anything. */
  readonly hasTrial: boolean;
  /** The command that does the same. */
  readonly command: string;
  list(input: { limit: number; before?: number }, signal: AbortSignal): Promise<Page>;
  get(version: number, signal: AbortSignal): Promise<Version>;
  draft(files: Files, note: string): Promise<{ document: Version; faults: FileFault[] }>;
  check(files: Files): Promise<{ valid: boolean; faults: FileFault[] }>;
  publish(version: number, as: "enforced" | "shadow"): Promise<VersionSummary>;
  rollback(version: number): Promise<VersionSummary>;
  endTrial(): Promise<unknown>;
}

export const GOVERNED: Record<Kind, GovernedTexts> = {
  policy: {
    noun: "policies",
    label: "Rego policies",
    lead: "Who may see and run which tool. Asked at every call; what no rule allows is refused.",
    extension: ".rego",
    hasTrial: true,
    command: "ostiary policy",
    list: (input, signal) => api.policies.listPolicyVersions.query(input, { signal }),
    get: (version, signal) => api.policies.getPolicyVersion.query({ version }, { signal }),
    draft: (files, note) => api.policies.draftPolicy.mutate({ files, note }),
    check: (files) => api.policies.checkPolicy.mutate({ files }),
    publish: (version, as) => api.policies.publishPolicy.mutate({ version, as }),
    rollback: (version) => api.policies.rollbackPolicy.mutate({ version }),
    endTrial: () => api.policies.endPolicyTrial.mutate({}),
  },
  governance: {
    noun: "governance",
    label: "Governance files",
    lead: "Rules per tool, operating modes and plans: what runs, what asks a person, what never runs.",
    extension: ".yaml",
    hasTrial: false,
    command: "ostiary governance",
    list: (input, signal) => api.governance.listGovernanceVersions.query(input, { signal }),
    get: (version, signal) => api.governance.getGovernanceVersion.query({ version }, { signal }),
    draft: (files, note) => api.governance.draftGovernance.mutate({ files, note }),
    check: (files) => api.governance.checkGovernance.mutate({ files }),
    publish: (version, as) => api.governance.publishGovernance.mutate({ version, as }),
    rollback: (version) => api.governance.rollbackGovernance.mutate({ version }),
    endTrial: () => api.governance.endGovernanceTrial.mutate({}),
  },
  schema: {
    noun: "relationSchema",
    label: "Relation schema",
    lead: "Which relations there are between people, groups and tools, and which permissions follow.",
    extension: ".zed",
    hasTrial: false,
    command: "ostiary api GET /relationships/schema/versions",
    list: (input, signal) => api.relationSchema.listRelationSchemaVersions.query(input, { signal }),
    get: (version, signal) =>
      api.relationSchema.getRelationSchemaVersion.query({ version }, { signal }),
    draft: (files, note) => api.relationSchema.draftRelationSchema.mutate({ files, note }),
    check: (files) => api.relationSchema.checkRelationSchema.mutate({ files }),
    publish: (version, as) => api.relationSchema.publishRelationSchema.mutate({ version, as }),
    rollback: (version) => api.relationSchema.rollbackRelationSchema.mutate({ version }),
    endTrial: () => api.relationSchema.endRelationSchemaTrial.mutate({}),
  },
};
