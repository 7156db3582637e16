// On or off for everybody. Administrators only.
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { notify } from "../../../ui/toast.tsx";

export function SwitchTool({ name, isOn }: { readonly name: string; readonly isOn: boolean }) {
  const change = useChange((enabled: boolean) => api.tools.switchTool.mutate({ name, enabled }), {
    refreshes: ["tools"],
    onDone: (_answer, enabled) =>
      notify(`${name} is ${enabled ? "on" : "off"}`, { undo: () => change.mutate(!enabled) }),
  });
  if (!isOn)
    return (
      <Button look="primary" busy={change.isPending} onClick={() => change.mutate(true)}>
        Switch on
      </Button>
    );
  return (
    <ConfirmButton
      label="Switch off"
      question={`Switch ${name} off?`}
      explain="It no longer exists for anybody, agents included, until it is switched on again. Calls that run now go on."
      confirm="Switch off"
      busy={change.isPending}
      onConfirm={() => change.mutate(false)}
    />
  );
}
