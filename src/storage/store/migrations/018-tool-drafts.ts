import type { ColumnTypes } from "./index.ts";

const UNCHECKED = "an earlier release kept it unchecked: draft it again and say what it replaces";

// Drafted tools get versions, test results and a state. Those of earlier releases were neither checked nor tested.
export const toolDrafts = (t: ColumnTypes): string[] => [
  `create table drafted_tools (
    id text not null primary key,
    name text not null,
    number ${t.int} not null,
    version text not null,
    replaces text,
    tenant_id text not null,
    user_id text not null,
    state text not null,
    hash text not null,
    definition text not null,
    program text not null,
    tests text not null,
    results text not null,
    tested_at ${t.int} not null,
    findings text not null,
    proposed_risk text,
    terms text,
    reason text,
    created_at ${t.int} not null,
    decided_at ${t.int},
    decided_by text
  )`,
  `create unique index drafted_tools_by_name on drafted_tools (name, number)`,
  `create unique index drafted_tools_linked on drafted_tools (name) where state = 'linked'`,
  `create index drafted_tools_by_tenant on drafted_tools (tenant_id, id)`,
  `insert into drafted_tools
    select 'dft_' || replace(d.name, '/', '_'), d.name, 1, d.version, null, d.tenant_id, d.user_id, 'rejected', d.pin,
      c.body, d.config, '[]', '[]', d.created_at, '[]', d.proposed_risk, null, '${UNCHECKED}', d.created_at, null, null
    from tool_drafts d join capabilities c on c.name = d.name`,
  `drop table tool_drafts`,
];
