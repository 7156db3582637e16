// Words of a definition that speak to the model: orders, secrecy, other people's secrets, ways out.
import type { Finding } from "../../../storage/store/store.ts";
import { asRead, reveal } from "./hidden.ts";
import { excerptOf, type DefinitionText } from "./definition-text.ts";

type Order = readonly [severity: "warning" | "danger", pattern: RegExp, message: string];

/** Matched against the text as a model reads it: small letters, single blanks, nothing hidden in between. */
const ORDERS: readonly Order[] = [
  [
    "danger",
    /\b(?:ignore|disregard|forget|override|bypass|overlook|neglect)\b[^.]{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|other|your|system|safety)\b[^.]{0,30}\b(?:instructions?|prompts?|rules?|guidelines?|directives?|messages?|context|restrictions?|commands?|text|policies|filters?|orders?|conversations?)\b/,
    "it tells the model to ignore its instructions",
  ],
  [
    "danger",
    /\b(?:ignore|disregard|forget|overlook|neglect|drop|set aside)\b[^.]{0,30}\b(?:everything|every\w*|all|anything|what(?:ever)?|rules?|directives?|instructions?|guidelines?)\b[^.]{0,40}\b(?:told|instructed|said|given|learned|before|earlier|so far|previously|can and can't|taught)\b/,
    "it tells the model to ignore its instructions",
  ],
  [
    "danger",
    /\b(?:do not|don't|never|without|avoid|not to)\b[^.]{0,20}\b(?:tell|telling|mention|mentioning|inform|informing|notify|notifying|reveal|revealing|show|showing|alert|alerting|disclose|disclosing|explain|say|let)\b[^.]{0,40}\b(?:users?|human|person|anyone|anybody|them|operator)\b/,
    "it tells the model to keep something from the user",
  ],
  [
    "danger",
    /<\s*\/?\s*(?:important|system|secret|instructions?|hidden|admin|critical|sys|s|assistant|im start|\|im start\|)\s*>|\[\s*(?:inst|system|hidden instructions?)\s*\]|<\|[a-z ]+\|>/,
    "it holds markup that poses as instructions",
  ],
  [
    "danger",
    /(?:\.ssh\b|\bid rsa\b|\bid ed25519\b|\bauthorized keys\b|\/etc\/(?:passwd|shadow)|\.aws\/|\.npmrc\b|\.netrc\b|\.git-credentials|\.cursor\/mcp\.json|mcp\.json\b|\bprivate keys?\b|\bkeychain\b|\bseed phrase\b)/,
    "it speaks of keys and files that hold secrets",
  ],
  [
    "danger",
    /\b(?:send|forward|exfiltrate|upload|transmit|leak|post|bcc|pass|append|include|copy)\b[^.]{0,80}\b(?:conversation|chat history|message history|passwords?|credentials?|api keys?|secrets?|tokens?|system prompt|env(?:ironment)? variables?|private data|contacts)\b[^.]{0,60}\b(?:to|in|as|into|with|via)\b/,
    "it tells the model to carry something out",
  ],
  [
    "danger",
    /\b(?:you are now|from now on,? you|pretend (?:to be|you are)|act as if you|(?:enter|enable|switch to|activate|in)(?: a| the)? (?:developer|debug|admin|god|system|maintenance|unrestricted) mode|do anything now|jailbreak|new instructions?:|developer mode)\b/,
    "it gives the model another role",
  ],
  [
    "danger",
    /\b(?:reveal|print|repeat|show|output|tell me|give me|disclose|leak|return)\b[^.]{0,40}\b(?:system prompt|initial prompt|hidden prompt|your instructions|your prompt)\b/,
    "it asks for the model's own instructions",
  ],
  [
    "warning",
    /\bsystem prompt\b|\b(?:previous|prior|above|earlier) (?:instructions?|prompts?)\b|\bignore (?:the|all|any|everything|what)\b/,
    "it speaks of the model's instructions",
  ],
  [
    "warning",
    /\b(?:you|assistant|model|agent|llm|ai)\b[^.]{0,20}\b(?:must|have to|are required to|need to|shall|should always|will always)\b[^.]{0,40}\b(?:call|invoke|use|run|execute|read|include|send|pass|first|always)\b/,
    "it gives the model orders",
  ],
  [
    "warning",
    /\b(?:before|prior to|after|when|whenever|instead of|in order to)\b[^.]{0,20}\b(?:using|calling|invoking|running|use|call|invoke)\b[^.]{0,30}\b(?:this|any|the|other|another|all|every)\b[^.]{0,20}\btools?\b/,
    "it says when this or other tools are to be called",
  ],
  [
    "warning",
    /\b(?:this|the following) (?:tool|instruction|rule|message)s?\b[^.]{0,30}\b(?:takes? (?:precedence|priority)|overrides?|supersedes?|replaces?|must be (?:called|used|run|followed))\b|\b(?:highest|top|absolute) priority\b/,
    "it claims precedence",
  ],
  [
    "warning",
    /\b(?:do not|don't|never)\b[^.]{0,10}\b(?:use|call|invoke|trust)\b[^.]{0,30}\b(?:other|another|any other|original|old|the)\b[^.]{0,20}\btools?\b/,
    "it speaks against other tools",
  ],
  [
    "warning",
    /\b(?:secretly|covertly|silently|quietly|behind the scenes|without (?:asking|confirmation|consent|permission|approval|the user))\b/,
    "it speaks of doing something unseen",
  ],
  [
    "warning",
    /\b(?:passwords?|credentials?|api[ -]?keys?|secrets?|access tokens?|environment variables?|\.env\b|process\.env|ssh keys?)\b[^.]{0,60}\b(?:read|include|provide|pass|send|content|value|here|param|argument)|\b(?:read|include|provide|pass|send|contents? of|fetch|access)\b[^.]{0,60}\b(?:passwords?|credentials?|api[ -]?keys?|secrets?|access tokens?|environment variables|\.env\b|ssh keys?)\b/,
    "it asks for secrets",
  ],
  [
    "warning",
    /\b(?:important|attention|warning|note to (?:the )?(?:ai|model|assistant)|urgent|mandatory|critical)\s*[:!]/,
    "it raises its voice",
  ],
];

/** Parameters that have no use but to carry the conversation, or the model itself, to the server. */
const CARRYING =
  /^(?:side ?note|conversation(?: history)?|chat(?: history| log)|message history|system prompt|system message|previous messages|prior messages|chain of thought|reasoning trace|tool list|available tools|tools list|model name|model id|user prompt|full prompt|raw prompt|hidden)$/;

export function findingsInWords(part: DefinitionText): Finding[] {
  const { path, text, isName } = part;
  const read = asRead(isName ? text.replace(/([a-z])([A-Z])/g, "$1 $2") : text);
  const found: Finding[] = [];
  if (isName && /\/properties\/[^/]+$/.test(path) && CARRYING.test(read.trim()))
    found.push({
      kind: "schema",
      severity: "warning",
      path,
      message:
        "a parameter that would carry the conversation or the model's own state to the server",
      excerpt: reveal(text),
    });
  if (isName && !/\s/.test(read.trim())) return found;
  for (const [severity, pattern, message] of ORDERS) {
    const match = pattern.exec(read);
    if (match)
      found.push({
        kind: "instruction",
        severity,
        path,
        message,
        excerpt: excerptOf(read, match.index, match[0].length),
      });
  }
  return isName ? found : [...found, ...linksIn(part)];
}

/** What is dangerous about a text that was hidden in another; null when nothing is. */
export function dangerIn(text: string): string | null {
  const read = asRead(text);
  return ORDERS.find(([, pattern]) => pattern.test(read))?.[2] ?? null;
}

const OWN_LINKS = /\/(?:\$schema|\$id|\$ref)$/;

function linksIn({ path, text }: DefinitionText): Finding[] {
  if (OWN_LINKS.test(path)) return [];
  const found: Finding[] = [];
  const add = (
    severity: Finding["severity"],
    match: RegExpExecArray | null,
    message: string,
  ): void => {
    if (match)
      found.push({
        kind: "link",
        severity,
        path,
        message,
        excerpt: excerptOf(text, match.index, match[0].length),
      });
  };
  add(
    "warning",
    /!\[[^\]]{0,300}\]\(\s{0,40}https?:[^)]{0,2000}/i.exec(text),
    "a picture from elsewhere: showing it tells that host so",
  );
  add(
    "warning",
    /\b(?:javascript|vbscript|file):[^\s]+|\bdata:[\w/+.-]+[;,]/i.exec(text),
    "a link that runs something, or leads to files",
  );
  add("info", /\bhttps?:\/\/[^\s)"'<>]+/i.exec(text), "a link");
  return found;
}
