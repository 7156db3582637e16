// The tool exists, is enabled and reviewed, and this server has a runner for it.
import { allow, deny, notFound, type Stage } from "./stage.ts";

export const registry: Stage = {
  name: "registry",
  engine: "registry",
  hides: true,
  decide(subject, { toolsOn, providers }) {
    const { tool, caller } = subject;
    if (!toolsOn || !tool?.enabled || tool.linkState !== "linked") return notFound(subject);
    if (tool.provider === "native" && tool.native) return allow();
    if ((tool.route ?? tool.drafted) && providers.has(tool.provider)) return allow();
    // Until a runner exists the tool is hidden; only administrators learn why.
    if (caller.role !== "admin") return notFound(subject);
    return deny("UNSUPPORTED_PROVIDER", tool.provider, {
      message: `no runner for provider '${tool.provider}' of ${tool.name}`,
      remedy: "use a native tool, one of an upstream server, or a drafted one that is linked",
    });
  },
};
