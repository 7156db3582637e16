import { Code, jsonText, visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { Facts } from "../../../ui/page.tsx";
import { type Setting, SOURCES, valueText } from "./settings.tsx";

/** What a setting is for, and how it is set. */
export function SettingDetail({ setting }: { readonly setting: Setting }) {
  const { key, value, secret, source, where, description, expected, env, flag } = setting;
  const isLong = typeof value === "object" && value !== null && !secret;
  return (
    <>
      <p>{description}</p>
      <Facts
        rows={[
          [
            "Value",
            isLong ? (
              <Code label={`value of ${key}`} text={jsonText(value)} />
            ) : (
              <code>{visibleText(valueText(setting))}</code>
            ),
          ],
          ["From", SOURCES[source]],
          ["Where", source === "default" ? null : <code key="where">{visibleText(where)}</code>],
          [
            "Default",
            setting.default === null ? (
              "none"
            ) : (
              <code key="default">{visibleText(JSON.stringify(setting.default))}</code>
            ),
          ],
          ["Expected", expected],
          ["Variable", <Named key="env" text={env} />],
          ["Flag", flag === null ? null : <Named key="flag" text={flag} />],
        ]}
      />
    </>
  );
}

const Named = ({ text }: { readonly text: string }) => (
  <span className="-my-1 flex items-center gap-1">
    <code className="min-w-0">{text}</code>
    <Copy text={text} label={`Copy ${text}`} />
  </span>
);
