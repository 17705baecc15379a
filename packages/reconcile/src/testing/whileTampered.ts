import { randomUUID } from 'node:crypto';
import type { Pool } from '@coffer/database';
import { expect } from 'chai';

/** Runs the statement as someone with the database's password might, and reverts it afterwards. */
export async function whileTampered(
  pool: Pool,
  table: string,
  tamper: string,
  look: () => Promise<void>,
): Promise<void> {
  const kept = `kept_${randomUUID().replaceAll('-', '')}`;
  await pool.query(`create table ${kept} as table ${table}`);
  try {
    const { rowCount } = await pool.query(tamper);
    expect(rowCount, tamper).to.equal(1);
    await look();
  } finally {
    await pool.query(`delete from ${table}; insert into ${table} select * from ${kept}; drop table ${kept}`);
  }
}
