/** Kinds of spans: numbers of OpenTelemetry's API. */
export const KIND = { internal: 0, server: 1, client: 2 } as const;
export type Kind = (typeof KIND)[keyof typeof KIND];
