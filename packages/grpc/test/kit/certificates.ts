/** Certificates for TLS, made by openssl: an authority, and by it a server's and a client's. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface KeyPair {
  readonly private_key: Buffer;
  readonly cert_chain: Buffer;
}

export interface Certificates {
  readonly authority: Buffer;
  readonly server: KeyPair;
  /** With an RSA key: of these a certificate tells more than of others. */
  readonly client: KeyPair;
}

/** @returns undefined where there is no openssl */
export function makeCertificates(): Certificates | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'hotlane-tls-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const read = (name: string) => readFileSync(join(directory, name));
  const ec = ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const issue = (name: string, subject: string, key: readonly string[], extensions: string): KeyPair => {
    writeFileSync(join(directory, `${name}.ext`), extensions);
    openssl(
      'req',
      '-newkey',
      ...key,
      '-nodes',
      '-subj',
      subject,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
    );
    const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${name}.ext`];
    openssl('x509', '-req', '-in', `${name}.csr`, '-days', '2', '-out', `${name}.crt`, ...signing);
    return { private_key: read(`${name}.key`), cert_chain: read(`${name}.crt`) };
  };
  try {
    const ca = ['-subj', '/CN=hotlane authority', '-keyout', 'ca.key', '-out', 'ca.crt'];
    openssl('req', '-x509', '-newkey', ...ec, '-nodes', '-days', '2', ...ca);
    const server = issue('server', '/CN=server', ec, 'subjectAltName=DNS:server.test');
    const uses =
      'subjectAltName=URI:spiffe://hotlane.test/client,DNS:client.test\nextendedKeyUsage=clientAuth';
    const client = issue('client', '/O=hotlane/OU=one/OU=two/CN=client', ['rsa:2048'], uses);
    return { authority: read('ca.crt'), server, client };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
