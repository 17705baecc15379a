import { generateKeyPairSync } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import { expect } from 'chai';
import { isAcceptableKey, publicKeyBytes } from './publicKey.ts';

const P = 2n ** 255n - 19n;

/** 32 bytes, little-endian, with the sign of x in the highest bit. */
function encoded(y: bigint, sign = 0n): Buffer {
  return Buffer.from((y + (sign << 255n)).toString(16).padStart(64, '0'), 'hex').reverse();
}

describe('a public key that may sign in', () => {
  let smallOrder: readonly Point[] = [];
  before(() => {
    smallOrder = pointsOfSmallOrder();
  });

  it('is any that is made', () => {
    for (let made = 0; made < 50; made += 1) {
      const x = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '';
      const bytes = Buffer.from(x, 'base64url');
      expect(publicKeyBytes(encodeBase58(bytes))).to.deep.equal(bytes);
    }
  });

  it('is not one of the eight points whose order divides 8', () => {
    expect(new Set(smallOrder.map(({ x, y }) => `${x} ${y}`)).size).to.equal(8);
    for (const { x, y } of smallOrder) expect(isAcceptableKey(encoded(y, x % 2n)), `y ${y}`).to.equal(false);
  });

  it('is not one of them with the sign of the other x', () => {
    for (const { x, y } of smallOrder) {
      expect(isAcceptableKey(encoded(y, (x + 1n) % 2n)), `y ${y}`).to.equal(false);
    }
  });

  it('is not a second encoding of a point', () => {
    for (let above = 0n; above < 19n; above += 1n) {
      expect(isAcceptableKey(encoded(P + above)), `p + ${above}`).to.equal(false);
      expect(isAcceptableKey(encoded(P + above, 1n)), `p + ${above}, sign`).to.equal(false);
    }
  });

  it('is 32 bytes in base58', () => {
    expect(publicKeyBytes('11111111111111111111111111111111'), 'zero, of order 4').to.equal(undefined);
    expect(publicKeyBytes('')).to.equal(undefined);
    expect(publicKeyBytes('2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv'), 'too short').to.equal(undefined);
    expect(publicKeyBytes('2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv88'), 'too long').to.equal(undefined);
    expect(publicKeyBytes('0EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8'), 'no base58').to.equal(undefined);
    expect(publicKeyBytes(' 2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8'), 'a space').to.equal(undefined);
  });
});

interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

/** Every point of the curve whose order divides 8: the multiples of one of order 8. */
function pointsOfSmallOrder(): readonly Point[] {
  const primeOrder = 2n ** 252n + 27742317777372353535851937790883648493n;
  for (let y = 2n; ; y += 1n) {
    const point = onCurve(y);
    // Multiplied by the prime order of the group, a point is left with an order that divides 8.
    const torsion = point && times(primeOrder, point);
    if (!torsion || times(4n, torsion).y === 1n) continue;
    expect(times(8n, torsion)).to.deep.equal({ x: 0n, y: 1n });
    return Array.from({ length: 8 }, (_, factor) => times(BigInt(factor), torsion));
  }
}

const mod = (value: bigint): bigint => ((value % P) + P) % P;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = mod(base), left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}

const inverse = (value: bigint) => power(value, P - 2n);
const D = mod(-121665n * inverse(121666n));

function onCurve(y: bigint): Point | undefined {
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * power(2n, (P - 1n) / 4n));
  if (mod(x * x) !== square) return undefined;
  return { x, y };
}

function add(left: Point, right: Point): Point {
  const product = mod(D * left.x * right.x * left.y * right.y);
  return {
    x: mod((left.x * right.y + right.x * left.y) * inverse(1n + product)),
    y: mod((left.y * right.y + left.x * right.x) * inverse(1n - product)),
  };
}

function times(factor: bigint, point: Point): Point {
  let result: Point = { x: 0n, y: 1n };
  for (let double = point, left = factor; left > 0n; left >>= 1n) {
    if (left & 1n) result = add(result, double);
    double = add(double, double);
  }
  return result;
}
