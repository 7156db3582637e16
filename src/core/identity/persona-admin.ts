// Personas of the actor's tenant: how an agent speaks, and which of its caller's tools it works with.
import type { PersonaKnobs } from "../../contract/agent-config.ts";
import type { Caller } from "../../contract/call.ts";
import type { Action, PersonaRow, Store } from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { created, invalid, ours, type ListPage } from "./directory-faults.ts";

export interface NewPersona {
  readonly id?: string;
  readonly name: string;
  readonly prompt?: string;
  readonly traits?: Readonly<Record<string, string>>;
  readonly knobs?: PersonaKnobs;
  readonly capabilities?: readonly string[] | null;
}

export type PersonaChange = Partial<Omit<NewPersona, "id">>;

export interface PersonaAdmin {
  createPersona(actor: Caller, persona: NewPersona): Promise<PersonaRow>;
  getPersona(actor: Caller, id: string): Promise<PersonaRow>;
  listPersonas(actor: Caller, page: ListPage): Promise<PersonaRow[]>;
  updatePersona(actor: Caller, id: string, change: PersonaChange): Promise<PersonaRow>;
  removePersona(actor: Caller, id: string): Promise<void>;
  /** The change with canonical names; throws where it names what does not exist. */
  checkPersona<T extends PersonaChange>(change: T): T;
}

export interface PersonaAdminPowers {
  readonly store: Pick<Store, "personas">;
  readonly ids: Ids;
  readonly now: () => number;
  readonly commit: (actor: Caller, action: Action, body: Record<string, unknown>) => Promise<void>;
  readonly toolName: (name: string) => string | null;
}

export function createPersonaAdmin(p: PersonaAdminPowers): PersonaAdmin {
  const { personas } = p.store;
  const checked = <T extends PersonaChange>(change: T): T =>
    change.capabilities ? { ...change, capabilities: change.capabilities.map(toolName) } : change;
  const toolName = (name: string, index: number): string => {
    const known = p.toolName(name);
    if (known !== null) return known;
    const path = `/capabilities/${index}`;
    throw invalid(path, `there is no tool '${name}'`, "list the tools: GET /api/v1/tools");
  };
  return {
    checkPersona: checked,
    async createPersona(actor, persona) {
      const now = p.now();
      const row: PersonaRow = {
        prompt: "",
        traits: {},
        knobs: {},
        capabilities: null,
        ...checked(persona),
        id: persona.id ?? p.ids.next("psn", now),
        tenantId: actor.tenantId,
        createdAt: now,
        updatedAt: now,
      };
      await created(personas.create(row), "persona", row.id);
      await p.commit(actor, "persona.created", {
        personaId: row.id,
        capabilities: row.capabilities,
      });
      return row;
    },
    getPersona: async (actor, id) =>
      ours(actor, await personas.get(actor.tenantId, id), "persona", id),
    listPersonas: (actor, page) => personas.list(actor.tenantId, page),
    async updatePersona(actor, id, change) {
      const clean = { ...checked(change), updatedAt: p.now() };
      const row = ours(actor, await personas.update(actor.tenantId, id, clean), "persona", id);
      await p.commit(actor, "persona.changed", { personaId: id, change });
      return row;
    },
    async removePersona(actor, id) {
      ours(actor, await personas.get(actor.tenantId, id), "persona", id);
      if (await personas.remove(actor.tenantId, id))
        await p.commit(actor, "persona.removed", { personaId: id });
    },
  };
}
