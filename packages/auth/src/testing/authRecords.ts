/** A database with the tables of this context, and an app to sign in to. */
import { migrate } from '@coffer/database';
import type { AppPlace } from '@coffer/kernel';
import type { TestDatabaseTemplate } from '@coffer/testing';
import { authMigrations } from '../migrations.ts';

export const PLACE: AppPlace = { appId: 'app_1', scopeId: 'scp_1', environment: 'test' };

export const authTemplate: TestDatabaseTemplate = {
  name: 'auth records',
  prepare: (pool) => migrate(pool, [authMigrations]),
};
