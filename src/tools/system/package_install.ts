import { z } from "zod";
import { cutToBytes } from "../../util/text/lines.ts";
import { quote } from "../../util/text/quote.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

/** $1 name, $2 version. The report comes as one line of base64, what the manager says on stderr. */
const SCRIPTS = {
  pip: `
set -u
trust=
case $PACKAGES_PIP in http://*) trust=\${PACKAGES_PIP#http://}; trust=\${trust%%/*}; trust=\${trust%%:*} ;; esac
mkdir -p /packages/pip
python3 -m pip --isolated install --no-input --disable-pip-version-check --no-cache-dir --no-color --quiet --only-binary :all: \\
  --no-compile --upgrade --target /packages/pip --report /tmp/report --index-url "$PACKAGES_PIP" \${trust:+--trusted-host "$trust"} \\
  -- "$1==$2" >&2 || exit 1
base64 -w0 /tmp/report
`,
  npm: `
set -u
mkdir -p /packages/npm && cd /packages/npm || exit 1
[ -f package.json ] || echo '{"private":true}' >package.json
[ -f package-lock.json ] && cp package-lock.json /tmp/before || : >/tmp/before
npm install --prefix /packages/npm --ignore-scripts --save-exact --no-audit --no-fund --no-update-notifier --loglevel=error \\
  --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 --cache /tmp/npm --userconfig /tmp/none-user --globalconfig /tmp/none-global --registry "$PACKAGES_NPM" -- "$1@$2" >&2 || exit 1
base64 -w0 /tmp/before; echo
base64 -w0 package-lock.json
`,
} as const;
const PROGRAMS = { pip: "python3", npm: "npm" } as const;
const NAMES = {
  pip: /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  npm: /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/,
} as const;
const VERSIONS = {
  pip: /^(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[a-z0-9.]+)?$/,
  npm: /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/,
} as const;

export default defineTool({
  name: "system/package_install",
  displayName: "Install a package",
  description:
    "Install one package of Python (pip) or JavaScript (npm) in an exact version, for the programs that shell tools run: " +
    "import or require it there afterwards. It goes to a folder of the tenant, not to the workspace; no install script " +
    "of the package is run, and only built wheels are taken. Always asks for approval.",
  input: z.strictObject({
    manager: z.enum(["pip", "npm"]).describe("Which registry and language."),
    name: z.string().min(1).max(214).describe("Name of the package, e.g. requests or @scope/name."),
    version: z
      .string()
      .min(1)
      .max(100)
      .describe("The exact version, e.g. 2.32.3; no range, no tag."),
  }),
  output: z.strictObject({
    manager: z.enum(["pip", "npm"]),
    name: z.string(),
    version: z.string(),
    integrity: z
      .string()
      .describe("Checksum of the archive as the registry gave it, e.g. sha256-…"),
    path: z.string().describe("Where programs in the sandbox find it."),
    added: z
      .array(z.string())
      .describe("Everything that was added or changed, dependencies included, as name@version."),
  }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: ["process", "compute"],
  sandbox: "rw+net",
  timeoutMs: 300_000,
  openWorld: true,
  tags: ["packages"],
  requiredPermissions: ["tool:package_manager:install"],
  examples: [{ manager: "npm", name: "left-pad", version: "1.3.0" }],
  async run({ manager, name, version }, powers, context) {
    if (!NAMES[manager].test(name))
      throw toolError(
        "invalid_arguments",
        `name: expected the name of a package of ${manager}, got ${quote(name)}`,
        { code: "BAD_REQUEST", remedy: "give the bare name, without version, address or option" },
      );
    if (!VERSIONS[manager].test(version))
      throw toolError(
        "version_not_exact",
        `version: expected an exact version such as 1.2.3, got ${quote(version)}`,
        { remedy: "look up the version in the registry and name it in full" },
      );
    if ((await powers.process.find(PROGRAMS[manager])) === null)
      throw toolError(
        "provider_not_configured",
        `${PROGRAMS[manager]} is not installed on the server`,
        { code: "UNAVAILABLE", remedy: `install ${PROGRAMS[manager]} on the server` },
      );
    context.progress({ progress: 0, message: `installing ${name} ${version}` });
    const ended = await powers.process.run({
      argv: ["sh", "-c", SCRIPTS[manager], "sh", name, version],
      workspace: "none",
      network: true,
      packages: "write",
      inlineBytes: 10_485_760,
    });
    context.note({
      hosts: [...ended.hosts],
      untrusted: true,
      ...(ended.timedOut ? { timedOut: true } : {}),
    });
    if (ended.exitCode !== 0) throw failure(manager, `${name} ${version}`, ended.stderr);
    const added = await powers.compute.run("addedPackages", manager, ended.stdout);
    const wanted = added.find((one) => sameName(one.name, name)) ?? {
      name,
      version,
      integrity: "unchanged",
    };
    return {
      manager,
      name,
      version: wanted.version,
      integrity: wanted.integrity,
      path: manager === "pip" ? "/packages/pip" : `/packages/npm/node_modules/${name}`,
      added: added.map((one) => `${one.name}@${one.version}`).sort(),
    };
  },
});

const sameName = (a: string, b: string): boolean => canonical(a) === canonical(b);
const canonical = (name: string): string => name.toLowerCase().replaceAll(/[-_.]+/g, "-");

function failure(manager: string, what: string, output: string): Error {
  if (/EINTEGRITY|DO NOT MATCH THE HASHES|integrity checksum failed/i.test(output))
    return toolError(
      "integrity_mismatch",
      `${what}: what arrived is not what the registry promised`,
      { remedy: "do not use it; tell the operator of the registry" },
    );
  if (
    /E404|ETARGET|No matching version|No matching distribution|Could not find a version/i.test(
      output,
    )
  )
    return toolError("package_not_found", `${manager} has no ${what} that can be installed here`, {
      remedy: "check name and version; packages without a built archive cannot be installed",
    });
  return toolError(
    "install_failed",
    `${manager} could not install ${what}: ${cutToBytes(output.trim(), 1_000)}`,
    { remedy: "see the message; the registry's hosts must be allowed in the governance files" },
  );
}
