/** For small inputs such as a signature or a transaction. */
export const encodeBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Undefined unless it is base64 text. */
export function decodeBase64(text: unknown): Uint8Array | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    // Not base64: the reader of the field reports where.
    return undefined;
  }
}
