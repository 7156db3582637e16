// What went wrong with Kafka, as a message that an operator can act on. The driver's own errors nest, and name no
// remedy.
import { AppError } from "../../contract/errors.ts";

interface DriverError {
  readonly message?: unknown;
  readonly code?: unknown;
  /** The word of Kafka's protocol for it. */
  readonly apiId?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
}

/** Error codes of Kafka, then of the driver and of Node, each with its message. The first that is found counts. */
const KNOWN: readonly (readonly [words: readonly string[], message: string, remedy: string])[] = [
  [
    ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"],
    "Kafka refuses an event as too large for the topic",
    "raise max.message.bytes of the topic; the event waits, and those after it",
  ],
  [
    ["TOPIC_AUTHORIZATION_FAILED"],
    "Kafka does not let this user write to the topic",
    "allow Describe, Write and (to make it) Create on the topic",
  ],
  [
    ["CLUSTER_AUTHORIZATION_FAILED"],
    "Kafka does not let this user create the topic or write idempotently",
    "create the topic beforehand, and allow IdempotentWrite",
  ],
  [
    [
      "SASL_AUTHENTICATION_FAILED",
      "PLT_KFK_AUTHENTICATION",
      "UNSUPPORTED_SASL_MECHANISM",
      "ILLEGAL_SASL_STATE",
    ],
    "Kafka refuses the user, the password or the mechanism",
    "correct them in OSTIARY_SINK",
  ],
  [["Broker requires TLS."], "the Kafka broker speaks TLS", "add tls=on to OSTIARY_SINK"],
  [
    [
      "TLS handshake failed. Please verify the broker supports TLS.",
      "ERR_SSL_WRONG_VERSION_NUMBER",
      "ERR_SSL_PACKET_LENGTH_TOO_LONG",
    ],
    "the Kafka broker does not speak TLS on this port",
    "correct the port, or leave out tls=on in OSTIARY_SINK",
  ],
  [
    [
      "SELF_SIGNED_CERT_IN_CHAIN",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      "CERT_HAS_EXPIRED",
      "ERR_TLS_CERT_ALTNAME_INVALID",
    ],
    "the certificate of the Kafka broker is not trusted",
    "name the issuer's certificate in NODE_EXTRA_CA_CERTS",
  ],
  [
    ["NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"],
    "Kafka has too few replicas in sync",
    "bring the other brokers back, or lower min.insync.replicas",
  ],
  [
    ["INVALID_REPLICATION_FACTOR", "INVALID_PARTITIONS", "POLICY_VIOLATION", "INVALID_CONFIG"],
    "Kafka does not make the topic with these numbers",
    "create it beforehand, or set partitions and replicas in OSTIARY_SINK",
  ],
  [["UNKNOWN_TOPIC_OR_PARTITION"], "Kafka has no such topic", "create it, or leave out create=off"],
  [["KAFKA_STORAGE_ERROR"], "the disk of the Kafka broker fails", "check the broker"],
  [
    ["ENOTFOUND", "EAI_AGAIN"],
    "there is no such Kafka host",
    "correct the brokers in OSTIARY_SINK",
  ],
];

/** The driver has words of its own for a topic that is not there. */
const UNKNOWN_TOPIC = /^Unknown topic .+\.$/;
const MOST = 200;

export function kafkaFault(cause: unknown, topic: string): AppError {
  if (cause instanceof AppError) return cause;
  const words = wordsOf(cause);
  const known = KNOWN.find(([some]) => some.some((word) => words.has(word)));
  const [, message, remedy] = known ?? [
    [],
    `no Kafka broker answers (${[...words].find((word) => /^E[A-Z]+$/.test(word)) ?? firstOf(cause)})`,
    "start Kafka, or correct OSTIARY_SINK; events wait in the log meanwhile",
  ];
  return new AppError("UNAVAILABLE", "engine_unavailable", `${message}: topic ${topic}`, {
    remedy,
    cause,
  });
}

export const isAbout = (cause: unknown, word: string): boolean => wordsOf(cause).has(word);

/** Every word that names the fault, of the error and of what it holds. */
function wordsOf(cause: unknown): ReadonlySet<string> {
  const words = new Set<string>();
  const open: unknown[] = [cause];
  for (let looked = 0; open.length > 0 && looked < MOST; looked++) {
    const one = open.shift();
    if (typeof one !== "object" || one === null) continue;
    const { message, code, apiId, errors, cause: inner } = one as DriverError;
    for (const word of [apiId, code, message]) if (typeof word === "string") words.add(word);
    if (typeof message === "string" && UNKNOWN_TOPIC.test(message))
      words.add("UNKNOWN_TOPIC_OR_PARTITION");
    if (Array.isArray(errors)) open.push(...(errors as unknown[]));
    open.push(inner);
  }
  return words;
}

function firstOf(cause: unknown): string {
  const { message } = (cause ?? {}) as DriverError;
  return typeof message === "string" ? message.slice(0, MOST) : "unknown";
}
