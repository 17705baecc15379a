/** The partition of a key, as Kafka's own clients choose it: murmur2 of its bytes. */
import type { ICustomPartitioner } from 'kafkajs';

const SEED = 0x9747b28c;
const FACTOR = 0x5bd1e995;

function murmur2(key: string): number {
  const bytes = Buffer.from(key);
  const inFours = bytes.length & ~3;
  let hash = SEED ^ bytes.length;
  for (let index = 0; index < inFours; index += 4) {
    const four = Math.imul(bytes.readInt32LE(index), FACTOR);
    hash = Math.imul(hash, FACTOR) ^ Math.imul(four ^ (four >>> 24), FACTOR);
  }
  for (let index = bytes.length - 1; index >= inFours; index--) {
    hash ^= (bytes[index] ?? 0) << (8 * (index - inFours));
    if (index === inFours) hash = Math.imul(hash, FACTOR);
  }
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR);
  return hash ^ (hash >>> 15);
}

/** Every message of ours has a key. */
export const partitionByKey: ICustomPartitioner =
  () =>
  ({ partitionMetadata, message: { key } }) =>
    (murmur2(String(key)) & 0x7fffffff) % partitionMetadata.length;
