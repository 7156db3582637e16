// Records that say how agents work: personas, versions of capsules, models.
import type { CapsuleSettings, PersonaKnobs } from "../../../contract/agent-config.ts";
import type { JsonObject } from "../../../contract/call.ts";

export interface PersonaRow {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly prompt: string;
  readonly traits: Readonly<Record<string, string>>;
  readonly knobs: PersonaKnobs;
  /** The tools it works with, of those its caller holds; null narrows nothing. */
  readonly capabilities: readonly string[] | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export const LISTINGS = ["full", "search"] as const;
export type Listing = (typeof LISTINGS)[number];

export const CAPSULE_STATUSES = ["draft", "active", "archived"] as const;
export type CapsuleStatus = (typeof CAPSULE_STATUSES)[number];

/** What an edit of a capsule changes, and each version keeps. */
export interface CapsuleBody extends CapsuleSettings {
  readonly name: string;
  /** Tool names; the single entry `*` stands for every native tool (capsule `all`). */
  readonly capabilities: readonly string[];
  /** What MCP clients are shown: every tool it holds, or the tools to search and call them with. */
  readonly listing: Listing;
}

export interface CapsuleRow extends CapsuleBody {
  readonly id: string;
  readonly tenantId: string;
  /** The version that acts. */
  readonly version: number;
  /** The version it was made from. */
  readonly parent: number | null;
  readonly status: CapsuleStatus;
  readonly isDefault: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface CapsuleVersionRow {
  readonly capsuleId: string;
  readonly version: number;
  /** draft: does not act yet; active: acts; archived: acted once, or was never chosen. */
  readonly status: CapsuleStatus;
  readonly parent: number | null;
  /** A user id; null: made before versions were kept. */
  readonly author: string | null;
  readonly createdAt: number;
  readonly body: CapsuleBody;
}

/** Who changes a capsule, and when. */
export interface CapsuleEdit {
  readonly updatedAt: number;
  readonly author?: string;
}

export type CapsuleRowChange = Partial<CapsuleBody & Pick<CapsuleRow, "status" | "isDefault">>;

export interface ModelRow {
  readonly tenantId: string;
  readonly name: string;
  /** As under `models` in the settings, without the key. */
  readonly settings: JsonObject;
  /** `env:NAME`; null: none, or sealed, or (of settings) the one in the settings. */
  readonly keyReference: string | null;
  /** The key, encrypted for this row. */
  readonly sealedKey: string | null;
  readonly source: "settings" | "api";
  readonly enabled: boolean;
  /** Where a call names no model, the lowest that can do it counts. */
  readonly position: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Models of the settings are for every tenant. */
export const EVERY_TENANT = "*";

export interface AgentRecordStore {
  readonly personas: {
    create(row: PersonaRow): Promise<void>;
    get(tenantId: string, id: string): Promise<PersonaRow | null>;
    list(tenantId: string, page: { limit: number; after?: string }): Promise<PersonaRow[]>;
    update(
      tenantId: string,
      id: string,
      change: Partial<Omit<PersonaRow, "id" | "tenantId" | "createdAt">>,
    ): Promise<PersonaRow | null>;
    remove(tenantId: string, id: string): Promise<boolean>;
  };

  readonly models: {
    create(row: ModelRow): Promise<void>;
    get(tenantId: string, name: string): Promise<ModelRow | null>;
    /** Those of one tenant, in the order in which they are chosen. */
    list(tenantId: string): Promise<ModelRow[]>;
    update(
      tenantId: string,
      name: string,
      change: Partial<Omit<ModelRow, "tenantId" | "name" | "source" | "createdAt">>,
    ): Promise<ModelRow | null>;
    remove(tenantId: string, name: string): Promise<boolean>;
    /** Replaces the models of the settings in one step. */
    replaceSettings(rows: readonly ModelRow[]): Promise<void>;
  };
}
