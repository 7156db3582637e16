// The pool alone: undici's front door loads a second fetch, mocks and caches that nobody here uses.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export default Pool;
}
