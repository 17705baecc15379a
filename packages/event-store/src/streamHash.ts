/** FNV-1a over the name of a stream and then the last step of MurmurHash3, so that names which differ little lie far apart. 32 bits. */
export function hashOfStream(stream: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < stream.length; at++) hash = Math.imul(hash ^ stream.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
