/** The HTTP client of the sender, bare: what a benchmark compares deliveries with. */
export { Agent, request } from 'undici';
