/** What would be done cannot be told beforehand; the message is for people. */
export class NoPreview extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "NoPreview";
  }
}
