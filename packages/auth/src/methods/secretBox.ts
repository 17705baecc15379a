/** What seals a text at rest, given by whoever holds the installation's key. */
export interface SecretBox {
  /** A JSON value. `place` is kept nowhere: who opens the value must name the same one. */
  readonly seal: (text: string, place: string) => unknown;
  /** Throws when the key or the place is another, or a byte was changed. */
  readonly open: (sealed: unknown, place: string) => string;
}
