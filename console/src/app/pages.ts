// The pages in the order of the rail. `key` goes there after g.
import {
  Activity,
  BookOpenCheck,
  Cable,
  ChartNoAxesColumn,
  CircleHelp,
  House,
  Inbox,
  type LucideIcon,
  MessageSquare,
  Network,
  ScrollText,
  Settings,
  Users,
  Workflow,
  Wrench,
} from "lucide-react";

export interface PageEntry {
  readonly path: string;
  readonly label: string;
  readonly icon: LucideIcon;
  readonly key: string;
  readonly adminOnly?: true;
}

export const PAGES = [
  { path: "/", label: "Home", icon: House, key: "h" },
  { path: "/executions", label: "Executions", icon: Activity, key: "e" },
  { path: "/approvals", label: "Approvals", icon: Inbox, key: "a" },
  { path: "/tools", label: "Tools", icon: Wrench, key: "t" },
  { path: "/explain", label: "Explain", icon: CircleHelp, key: "x" },
  { path: "/policies", label: "Policies", icon: BookOpenCheck, key: "p", adminOnly: true },
  { path: "/relationships", label: "Relationships", icon: Network, key: "r", adminOnly: true },
  { path: "/audit", label: "Audit", icon: ScrollText, key: "u", adminOnly: true },
  { path: "/figures", label: "Metrics", icon: ChartNoAxesColumn, key: "m" },
  { path: "/servers", label: "Servers", icon: Cable, key: "s", adminOnly: true },
  { path: "/work", label: "Work", icon: Workflow, key: "w" },
  { path: "/people", label: "People & keys", icon: Users, key: "k", adminOnly: true },
  { path: "/chat", label: "Chat", icon: MessageSquare, key: "c" },
  { path: "/settings", label: "Settings", icon: Settings, key: "," },
] as const satisfies readonly PageEntry[];
