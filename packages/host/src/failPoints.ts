/** Only crash specs name a fail point; without a name nothing is ever killed. */
import { type FailPoint, type FailPointName, noFailPoint } from '@coffer/kernel';

/** Kills this process, as a power cut would, at the point with that name. */
export function failPointFrom(name: FailPointName | undefined): FailPoint {
  if (name === undefined) return noFailPoint;
  return (reached) => {
    if (reached === name) process.kill(process.pid, 'SIGKILL');
  };
}
