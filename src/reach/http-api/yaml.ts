// A module of its own, so that a bundle can load it lazily: import() of a CommonJS package has no named exports there.
export { parseDocument } from "yaml";
