import { expect } from 'chai';
import { memoryFolder } from './memoryFolder.ts';

describe('the folder in memory', () => {
  it('is not one on a disk, nor one that is absent', () => {
    for (const folder of [import.meta.dirname, '/absent']) {
      expect(memoryFolder(folder)).to.equal(undefined);
    }
  });
});
