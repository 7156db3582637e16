/** Agents that work for the caller, never with more than the caller has. */
export interface AgentsPower {
  readonly none: null;
}
