/** Where in the texts. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column?: number;
}
