// Whether the browser tells of new approvals while the console is in the background.
import { Bell, BellOff } from "lucide-react";
import { useState } from "react";
import { notificationsOn, switchNotifications } from "../../app/approvals-badge.tsx";
import { Button } from "../../ui/button.tsx";
import { notify } from "../../ui/toast.tsx";

export function NotificationSwitch() {
  const [isOn, setOn] = useState(notificationsOn());
  if (!("Notification" in globalThis)) return null;
  const toggle = async (): Promise<void> => {
    if (isOn) {
      switchNotifications(false);
      return setOn(false);
    }
    if ((await Notification.requestPermission()) !== "granted")
      return notify("The browser does not allow notifications of this page", {
        detail: "Allow them in the browser's settings for this address, then try again.",
      });
    switchNotifications(true);
    setOn(true);
  };
  const Icon = isOn ? Bell : BellOff;
  return (
    <Button aria-pressed={isOn} onClick={() => void toggle()}>
      <Icon size={15} aria-hidden /> Notifications {isOn ? "on" : "off"}
    </Button>
  );
}
