/** The gateway's own certificate, for installations without one: clients are told to trust it. */
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

/** PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly privateKey: string;
}

const VALID_DAYS = 3_650;
/** Clocks differ a little. */
const VALID_BEFORE_DAYS = 1;
const MS_PER_DAY = 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** For a server reached by these names and addresses. */
export async function selfSignedCertificate(hosts: readonly string[], now: Date): Promise<Certificate> {
  // Needed once in the life of an installation: only that start loads it.
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Coffer store gateway',
      notBefore: new Date(now.getTime() - VALID_BEFORE_DAYS * MS_PER_DAY),
      notAfter: new Date(now.getTime() + VALID_DAYS * MS_PER_DAY),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          hosts.map((host) => ({ type: isIP(host) === 0 ? 'dns' : 'ip', value: host })),
        ),
      ],
    },
    webcrypto,
  );
  const privateKey = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    certificate: `${certificate.toString('pem')}\n`,
    privateKey: `${x509.PemConverter.encode(privateKey, x509.PemConverter.PrivateKeyTag)}\n`,
  };
}
