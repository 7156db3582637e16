// The section `hosts` of tools.yaml: where tools may reach out to.
import { canonicalHost } from "../../../reach/egress/hosts.ts";
import { EFFECTS, type Effects } from "../../../contract/tool.ts";
import type { RuleSource } from "../governance.ts";

import type { YamlEntry, Ruled } from "./yaml.ts";

const POLICIES = ["none", "list", "ask_new", "public"] as const;
export type HostPolicy = (typeof POLICIES)[number];

export interface HostRules {
  readonly rule: RuleSource;
  readonly schemes: ReadonlySet<string>;
  readonly ports: Ruled<ReadonlySet<number>>;
  readonly blocked: readonly Ruled<string>[];
  readonly allowed: readonly Ruled<string>[];
  /** Exact `host:port` of private places that may be reached. */
  readonly private: readonly Ruled<string>[];
  readonly policy: Readonly<Record<Effects, Ruled<HostPolicy>>>;
}

export interface HostOverride {
  readonly ports: Ruled<ReadonlySet<number>> | null;
  readonly blocked: readonly Ruled<string>[];
  readonly allowed: readonly Ruled<string>[] | null;
  readonly private: readonly Ruled<string>[];
  readonly policy: Ruled<HostPolicy> | null;
}

export function readHosts(entry: YamlEntry): HostRules {
  const fields = entry.fields(["schemes", "ports", "blocked", "allowed", "policy"], ["private"]);
  const policy = fields.policy.fields(EFFECTS);
  return {
    rule: entry.rule,
    schemes: new Set(
      fields.schemes.items().map((item) => item.choice(["https", "http"]) ?? "https"),
    ),
    ports: readPorts(fields.ports),
    blocked: hostPatterns(fields.blocked),
    allowed: hostPatterns(fields.allowed),
    private: fields.private ? privatePlaces(fields.private) : [],
    policy: Object.fromEntries(
      EFFECTS.map((name) => [name, readPolicy(policy[name])]),
    ) as HostRules["policy"],
  };
}

export function readHostOverride(entry: YamlEntry): HostOverride {
  const {
    ports,
    blocked,
    allowed,
    private: places,
    policy,
  } = entry.fields([], ["ports", "blocked", "allowed", "private", "policy"]);
  return {
    ports: ports ? readPorts(ports) : null,
    blocked: blocked ? hostPatterns(blocked) : [],
    allowed: allowed ? hostPatterns(allowed) : null,
    private: places ? privatePlaces(places) : [],
    policy: policy ? readPolicy(policy) : null,
  };
}

function readPorts(entry: YamlEntry): Ruled<ReadonlySet<number>> {
  return {
    value: new Set(entry.items().map((item) => item.whole(1, 65_535) ?? 1)),
    rule: entry.rule,
  };
}

function readPolicy(entry: YamlEntry): Ruled<HostPolicy> {
  return { value: entry.choice(POLICIES) ?? "none", rule: entry.rule };
}

/** `example.org`, or `*.example.org` for all below it. Kept in the canonical form that hosts are compared in. */
function hostPatterns(entry: YamlEntry): Ruled<string>[] {
  return entry.items().flatMap((item) => {
    const text = item.text();
    if (text === undefined) return [];
    const below = text.startsWith("*.");
    const host = canonicalHost(below ? text.slice(2) : text);
    if (host === null || host.includes("*"))
      return (
        item.fault(
          `expected a host such as example.org or *.example.org, got ${JSON.stringify(text)}`,
        ) ?? []
      );
    return [{ value: below ? `*.${host}` : host, rule: item.rule }];
  });
}

/** `searx.internal:8080` or `[::1]:8080`: one host and one port, never a pattern. Kept in canonical form. */
function privatePlaces(entry: YamlEntry): Ruled<string>[] {
  return entry.items().flatMap((item) => {
    const text = item.text();
    if (text === undefined) return [];
    const [, name = "", digits = ""] = /^(.+):([1-9]\d{0,4})$/.exec(text) ?? [];
    const host = canonicalHost(name);
    const port = Number(digits);
    if (host === null || host.includes("*") || port < 1 || port > 65_535)
      return (
        item.fault(
          `expected one host and its port such as search.internal:8080, got ${JSON.stringify(text)}`,
        ) ?? []
      );
    return [{ value: `${host}:${port}`, rule: item.rule }];
  });
}
