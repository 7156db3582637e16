// The keys of models that are records: sealed in the store, or read from the environment by reference.
import { createSealed, sealingKey } from "../../util/secrets/sealed.ts";
import type { ModelRow } from "../../storage/store/store.ts";
import type { ModelsConfig, ModelSettings } from "./config.ts";

export interface ModelKeys {
  /** The text to store; only the model it was sealed for can open it. */
  seal(model: ModelName, apiKey: string): string;
  /** The settings to use the model with, its key included. */
  opened(row: ModelRow): ModelSettings;
}

interface KeyPowers {
  readonly settings: ModelsConfig;
  readonly serverSecret: string;
  readonly know: (secret: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

type ModelName = Pick<ModelRow, "tenantId" | "name">;

const PURPOSE = "ostiary models: key, v1";

export function createModelKeys(p: KeyPowers): ModelKeys {
  const sealed = createSealed(sealingKey(p.serverSecret, PURPOSE));

  const keyOf = (row: ModelRow): string | undefined => {
    if (row.source === "settings") return p.settings[row.name]?.apiKey;
    const key =
      row.sealedKey === null
        ? row.keyReference === null
          ? undefined
          : p.env[row.keyReference.slice("env:".length)]
        : sealed.open(boundTo(row), row.sealedKey);
    if (key !== undefined && key !== "") p.know(key);
    return key === "" ? undefined : key;
  };

  return {
    seal(model, apiKey) {
      p.know(apiKey);
      return sealed.close(boundTo(model), apiKey);
    },
    opened(row) {
      const apiKey = keyOf(row);
      return { ...(row.settings as unknown as ModelSettings), ...(apiKey ? { apiKey } : {}) };
    },
  };
}

const boundTo = ({ tenantId, name }: ModelName): string => JSON.stringify([tenantId, name]);
