import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { userEvents } from './user.events.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');

const stored = (file: string) => {
  const { type, data, metadata } = JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'));
  return { type, data: JSON.stringify(data), metadata: JSON.stringify(metadata) };
};

describe('stored user events', () => {
  const files = readdirSync(FIXTURES);

  it('has a fixture of every type', () => {
    expect(new Set(files.map((file) => file.split('.')[0]))).to.deep.equal(new Set(userEvents.types));
  });

  for (const file of files) {
    it(`decodes ${file} and writes the same bytes again`, () => {
      const fixture = stored(file);
      const event = userEvents.decode(fixture);
      expect(userEvents.encode(event)).to.include({ type: fixture.type, data: fixture.data });
    });
  }

  it('refuses a type it does not know', () => {
    expect(() => userEvents.decode({ type: 'UserDeleted', data: '{}', metadata: '{}' })).to.throw(
      'does not know the event type UserDeleted',
    );
  });
});
