/** What names the schema of a stored event, in the schema itself and in every message: the same in every installation. */
export const schemaIdOf = (category: string, type: string, version: number): string =>
  `urn:coffer:event:${category}:${type}:${version}`;
