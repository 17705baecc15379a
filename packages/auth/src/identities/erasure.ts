/**
 * Erasing a person: the user's standing ends, then the data key is destroyed, then the identity is released.
 * The first event names all later steps, so any process that finds it can complete the erasure.
 */

import { type CommandContext, type CommandHandler, causedBy, type Deadline } from '@coffer/event-store';
import type { FailPoint, UserPlace } from '@coffer/kernel';
import type { ErasedUser, Users } from '@coffer/users';
import { identity, identityStreamName } from './domain/identity.ts';
import type { PersonalData } from './personalData.ts';

export interface Erasure {
  /** Throws `users/not_found`. Safe to repeat. */
  readonly erase: (owner: UserPlace, context: CommandContext) => Promise<void>;
  /** All steps that follow from the event that erased the user. Idempotent. */
  readonly finish: (owner: UserPlace, erased: ErasedUser, deadline: Deadline) => Promise<void>;
}

export function createErasure({
  handler,
  users,
  personalData,
  failPoint,
}: {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly users: Pick<Users, 'erase'>;
  readonly personalData: Pick<PersonalData, 'destroy'>;
  readonly failPoint: FailPoint;
}): Erasure {
  return {
    async erase(owner, context) {
      const erased = await users.erase(owner, context);
      failPoint('erase.erased');
      await finish(owner, erased, context);
    },
    finish,
  };

  async function finish(
    owner: UserPlace,
    { erasure, cause }: ErasedUser,
    { deadlineMs }: Deadline,
  ): Promise<void> {
    const { erasedAt, identities } = erasure;
    await personalData.destroy(owner, new Date(erasedAt));
    failPoint('erase.destroyed');
    // The primary identity is released last: its release marks the erasure as complete.
    for (const { identityHash } of identities.toReversed()) {
      const stream = identityStreamName({ ...owner, identityHash });
      const command = { type: 'ReleaseIdentity', userId: owner.userId, at: erasedAt } as const;
      await handler.execute(identity, stream, command, causedBy(cause, stream, deadlineMs));
    }
    failPoint('erase.released');
  }
}
