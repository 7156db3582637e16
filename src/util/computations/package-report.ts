// What package managers say they have installed.

export interface Added {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/** Lines of base64: the report of pip, or the lock file before and after. */
export function addedPackages(manager: "pip" | "npm", stdout: string): Added[] {
  const [first = "", second = ""] = stdout
    .split("\n")
    .map((line) => Buffer.from(line, "base64").toString("utf8"));
  return manager === "pip" ? addedByPip(first) : addedByNpm(first, second);
}

/** The report of `pip install --report`. */
export function addedByPip(report: string): Added[] {
  const items = fields(parsed(report))["install"];
  if (!Array.isArray(items)) return [];
  return items.map(fields).map((item) => {
    const metadata = fields(item["metadata"]);
    const archive = fields(fields(item["download_info"])["archive_info"]);
    const sha256 =
      text(fields(archive["hashes"])["sha256"]) || text(archive["hash"]).replace(/^sha256=/, "");
    return {
      name: text(metadata["name"]),
      version: text(metadata["version"]),
      integrity: `sha256-${sha256}`,
    };
  });
}

/** What the second package-lock.json has that the first has not. */
export function addedByNpm(before: string, after: string): Added[] {
  const known = fields(fields(parsed(before))["packages"]);
  return Object.entries(fields(fields(parsed(after))["packages"])).flatMap(([place, entry]) => {
    const { version, integrity } = fields(entry);
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(place)?.[1];
    if (name === undefined || fields(known[place])["integrity"] === integrity) return [];
    return [{ name, version: text(version), integrity: text(integrity) }];
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

const fields = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
const text = (value: unknown): string => (typeof value === "string" ? value : "");
