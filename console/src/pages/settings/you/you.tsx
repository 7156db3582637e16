// What a person sets for themselves: kept in this browser, but for the preferences, which the server keeps.
import { useState } from "react";
import { useSession } from "../../../app/session.tsx";
import { ShortcutsOff } from "../../../app/shortcuts.tsx";
import { type Theme, THEMES, useTheme } from "../../../app/theme.tsx";
import { Button } from "../../../ui/button.tsx";
import { Select } from "../../../ui/field.tsx";
import { Card, Facts } from "../../../ui/page.tsx";
import { exactTime } from "../../../ui/time.tsx";
import { Preferences } from "./preferences.tsx";

export function You() {
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="This browser">
        <div className="flex flex-col gap-5">
          <ThemeChoice />
          <div>
            <h3>Keyboard</h3>
            <ShortcutsOff />
            <p className="text-xs text-muted">
              Press ? on any page to see its keys. Keys with Ctrl or ⌘ and Esc always work.
            </p>
          </div>
          <Notifications />
        </div>
      </Card>
      <WhoAmI />
      <Card title="Preferences" className="lg:col-span-2">
        <Preferences />
      </Card>
    </div>
  );
}

const THEME_NAMES: Record<Theme, string> = {
  system: "as the system has it",
  light: "light",
  dark: "dark",
};

function ThemeChoice() {
  const [theme, choose] = useTheme();
  return (
    <Select
      label="Theme"
      className="max-w-64"
      value={theme}
      onChange={(event) => choose(event.target.value as Theme)}
      options={THEMES.map((one) => [one, THEME_NAMES[one]] as const)}
    />
  );
}

const PERMISSIONS: Record<NotificationPermission, string> = {
  granted: "✓ A new approval is shown while this page is in the background.",
  denied: "✕ The browser forbids them for this page. Allow them in its site settings.",
  default: "The system can show new approvals while this page is in the background.",
};

function Notifications() {
  const isKnown = "Notification" in globalThis;
  const [state, setState] = useState(isKnown ? Notification.permission : "denied");
  return (
    <div className="flex flex-col items-start gap-1.5">
      <h3>Notifications</h3>
      <p role="status">
        {isKnown ? PERMISSIONS[state] : "This browser has none, or the page is not on https."}
      </p>
      {state === "default" ? (
        <Button
          small
          onClick={() => void Notification.requestPermission().then((now) => setState(now))}
        >
          Allow notifications
        </Button>
      ) : null}
    </div>
  );
}

function WhoAmI() {
  const { userId, name, tenantId, tenantName, role, roles, level, plan, scopes, capsuleId } =
    useSession();
  const { keyId, signedInAt } = useSession();
  return (
    <Card title="You">
      <Facts
        rows={[
          ["Name", name],
          ["User", <code key="user">{userId}</code>],
          ["Tenant", tenantName === null ? <code>{tenantId}</code> : `${tenantName} (${tenantId})`],
          ["Role", role === "admin" ? "administrator" : "user"],
          ["Roles", roles.length === 0 ? "none" : roles.join(", ")],
          ["Level", level.replaceAll("_", " ")],
          ["Plan", plan ?? "as the tenant"],
          ["Capsule", capsuleId ?? "none: every tool that the rules allow"],
          ["Scopes", <code key="scopes">{scopes.join(" ") || "none"}</code>],
          ["Key", keyId === null ? null : <code key="key">{keyId}</code>],
          ["Signed in", signedInAt === null ? null : exactTime(signedInAt)],
        ]}
      />
    </Card>
  );
}
