// Which headers a caller's arguments may fill: none that control the connection, and none that authenticate.
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const STEERING =
  /^(host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|content-.*|accept-encoding|proxy-.*|sec-.*|via|forwarded|x-forwarded-.*|x-real-ip|x-http-method.*|x-method-override|x-original-.*|x-rewrite-.*)$/i;
const CREDENTIAL =
  /(^|[-_])(authorization|cookie2?|api-?key|apikey|token|secret|password|passwd|session|credentials?|signature|jwt)$/i;
/** Set by ourselves. */
const OWN = /^(accept|user-agent|traceparent|tracestate|baggage)$/i;

export const isHeaderName = (name: string): boolean => TOKEN.test(name);
export const isSteering = (name: string): boolean => STEERING.test(name);

/** Why an argument must not become this header; null when it may. */
export function headerFault(name: string): string | null {
  if (!isHeaderName(name)) return "is no name of a header";
  if (OWN.test(name)) return "is set here";
  if (isSteering(name)) return "steers the connection";
  if (CREDENTIAL.test(name))
    return "holds a credential; give it to the server as ${credential:NAME}";
  return null;
}
