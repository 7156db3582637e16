// Which built-ins are in which group. Apart from groups.ts, so that a bundle can know the names without the code.

export type GroupName = "graphql" | "json-schema" | "templates" | "x509";

export const GROUP_NAMES: Readonly<Record<GroupName, readonly string[]>> = {
  graphql: [
    "graphql.parse",
    "graphql.parse_and_verify",
    "graphql.parse_query",
    "graphql.parse_schema",
    "graphql.is_valid",
    "graphql.schema_is_valid",
  ],
  "json-schema": ["json.verify_schema", "json.match_schema"],
  templates: ["strings.render_template"],
  x509: [
    "crypto.x509.parse_certificates",
    "crypto.x509.parse_and_verify_certificates",
    "crypto.x509.parse_and_verify_certificates_with_options",
    "crypto.x509.parse_certificate_request",
    "crypto.x509.parse_keypair",
    "crypto.x509.parse_rsa_private_key",
    "crypto.parse_private_keys",
  ],
};

const GROUPS = Object.keys(GROUP_NAMES) as readonly GroupName[];
const GROUP_OF: ReadonlyMap<string, GroupName> = new Map(
  GROUPS.flatMap((group) => GROUP_NAMES[group].map((name) => [name, group] as const)),
);

/** The group that a built-in is in; undefined for a standard one. */
export const groupOf = (builtin: string): GroupName | undefined => GROUP_OF.get(builtin);
