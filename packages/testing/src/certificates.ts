/** A certificate authority of a spec's own, and a certificate by it for this machine. */
import { webcrypto } from 'node:crypto';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const AN_HOUR_MS = 60 * 60 * 1000;

export interface Certificates {
  /** PEM: whoever trusts it trusts the certificate. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export async function newCertificates(): Promise<Certificates> {
  const x509 = await import('@peculiar/x509');
  const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const [caKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  const now = Date.now();
  const common = {
    notBefore: new Date(now - AN_HOUR_MS),
    notAfter: new Date(now + AN_HOUR_MS),
    signingAlgorithm: ALGORITHM,
  };
  const ca = await x509.X509CertificateGenerator.createSelfSigned(
    {
      ...common,
      name: 'CN=The CA of a studio',
      keys: caKeys,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      ],
    },
    webcrypto,
  );
  const certificate = await x509.X509CertificateGenerator.create(
    {
      ...common,
      issuer: ca.subject,
      subject: 'CN=This machine',
      signingKey: caKeys.privateKey,
      publicKey: keys.publicKey,
      extensions: [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
      ],
    },
    webcrypto,
  );
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    ca: ca.toString('pem'),
    cert: certificate.toString('pem'),
    key: x509.PemConverter.encode(key, x509.PemConverter.PrivateKeyTag),
  };
}
