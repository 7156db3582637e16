/** The effect cannot be found out beforehand; the message is for people. */
export class NoPreview extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "NoPreview";
  }
}
