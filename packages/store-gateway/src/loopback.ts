/** Whether only this machine can reach the host: what a gateway without TLS may be bound to. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
