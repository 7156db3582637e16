// The address of a Kafka cluster: kafka://[user:password@]host[:port][,host[:port]…][/topic][?option=value&…].

export interface KafkaAddress {
  readonly brokers: readonly { readonly host: string; readonly port: number }[];
  readonly topic: string;
  readonly tls: boolean;
  readonly sasl: {
    readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
    readonly username: string;
    readonly password: string;
  } | null;
  /** Make the topic when it is missing; null: it has to be there. Absent numbers are the brokers' own. */
  readonly create: { readonly partitions?: number; readonly replicas?: number } | null;
}

export const DEFAULT_TOPIC = "audit.events";
const DEFAULT_PORT = 9092;
const SHAPE =
  /^kafka:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^@/?#]+)(?:\/([^/?#]*))?(?:\?([^?#]*))?$/;
const BROKER = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::(\d{1,5}))?$/;
const LOOPBACK = /^(localhost|::1|127(?:\.\d{1,3}){3})$/;
const TOPIC = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;
const MECHANISMS = {
  plain: "PLAIN",
  "scram-sha-256": "SCRAM-SHA-256",
  "scram-sha-512": "SCRAM-SHA-512",
} as const;
const OPTIONS = ["tls", "sasl", "create", "partitions", "replicas"];
const MOST_PARTITIONS = 10_000;
const MOST_REPLICAS = 100;

/** What the address says, or what was expected instead. */
export function parseKafkaAddress(address: string): KafkaAddress | { readonly expected: string } {
  const [whole, user, password, hosts, topic, query] = SHAPE.exec(address) ?? [];
  if (whole === undefined || hosts === undefined)
    return {
      expected:
        "kafka://[user:password@]host[:port][,host[:port]…]/topic[?tls=on&sasl=scram-sha-512]",
    };
  const brokers = hosts.split(",").map(brokerOf);
  if (!brokers.every((one) => one !== null))
    return { expected: "brokers as host or host:port, with commas between them" };
  const name = topic === undefined || topic === "" ? DEFAULT_TOPIC : topic;
  if (!TOPIC.test(name))
    return { expected: "a topic of at most 249 letters, digits, dots, dashes and underscores" };

  const options = new URLSearchParams(query ?? "");
  for (const key of options.keys()) {
    if (!OPTIONS.includes(key)) return { expected: `no option but ${OPTIONS.join(", ")}` };
    if (options.getAll(key).length > 1) return { expected: `the option ${key} once` };
  }
  const [tls, create] = [
    switchOf(options.get("tls"), false),
    switchOf(options.get("create"), true),
  ];
  if (tls === null || create === null)
    return { expected: "on or off for the options tls and create" };
  const partitions = wholeOf(options.get("partitions"), MOST_PARTITIONS);
  const replicas = wholeOf(options.get("replicas"), MOST_REPLICAS);
  if (partitions === null || replicas === null)
    return {
      expected: `whole numbers for partitions (to ${MOST_PARTITIONS}) and replicas (to ${MOST_REPLICAS})`,
    };

  const wanted = options.get("sasl");
  const named = user !== undefined && user !== "";
  if (wanted === null && named)
    return {
      expected: `the option sasl with a user and a password: ${Object.keys(MECHANISMS).join(", ")}`,
    };
  let sasl: KafkaAddress["sasl"] = null;
  if (wanted !== null) {
    const mechanism = Object.hasOwn(MECHANISMS, wanted)
      ? MECHANISMS[wanted as keyof typeof MECHANISMS]
      : null;
    if (mechanism === null)
      return { expected: `one of ${Object.keys(MECHANISMS).join(", ")} for sasl` };
    if (!named || password === undefined || password === "")
      return { expected: "a user and a password before the brokers where sasl is set" };
    // The password would travel as it is, and with it the right to write what others take for the record.
    if (mechanism === "PLAIN" && !tls && !brokers.every(({ host }) => LOOPBACK.test(host)))
      return { expected: "tls=on with sasl=plain, beyond loopback" };
    sasl = { mechanism, username: decoded(user), password: decoded(password) };
  }
  return {
    brokers,
    topic: name,
    tls,
    sasl,
    create: create
      ? {
          ...(partitions === undefined ? {} : { partitions }),
          ...(replicas === undefined ? {} : { replicas }),
        }
      : null,
  };
}

function brokerOf(text: string): KafkaAddress["brokers"][number] | null {
  const [, host, digits] = BROKER.exec(text) ?? [];
  const port = digits === undefined ? DEFAULT_PORT : Number(digits);
  if (host === undefined || port < 1 || port > 65_535) return null;
  return { host: host.replace(/^\[|\]$/g, ""), port };
}

function switchOf(text: string | null, fallback: boolean): boolean | null {
  return text === null ? fallback : text === "on" ? true : text === "off" ? false : null;
}

/** Undefined: not given. Null: not such a number. */
function wholeOf(text: string | null, most: number): number | null | undefined {
  if (text === null) return undefined;
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= most ? value : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
