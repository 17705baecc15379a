import { expect } from 'chai';
import { createAnnouncements } from './announcements.ts';

describe('announcements of appends', () => {
  let told: string[];
  let pauses: { readonly delayMs: number; readonly end: () => void; isCancelled: boolean }[];
  const client = (name: string) => ({
    query: (): Promise<never> => {
      told.push(name);
      return Promise.reject(new Error('The connection is gone.'));
    },
  });
  const announcements = () =>
    createAnnouncements((delayMs, end) => {
      const pause = { delayMs, end, isCancelled: false };
      pauses.push(pause);
      return () => {
        pause.isCancelled = true;
      };
    });
  const endPause = () => pauses.at(-1)?.end();
  beforeEach(() => {
    told = [];
    pauses = [];
  });

  it('are told at once, and what is appended in the pause after it when that ends', () => {
    const { made } = announcements();
    made(client('first'));
    expect(told).to.deep.equal(['first']);
    made(client('second'));
    made(client('third'));
    expect(told).to.deep.equal(['first']);
    endPause();
    expect(told).to.deep.equal(['first', 'third']);
    made(client('fourth'));
    expect(told).to.deep.equal(['first', 'third']);
    endPause();
    expect(told).to.deep.equal(['first', 'third', 'fourth']);
    expect(pauses.map(({ delayMs }) => delayMs)).to.deep.equal([20, 20, 20]);
  });

  it('are told at once again when nothing was appended in a pause', () => {
    const { made } = announcements();
    made(client('first'));
    endPause();
    expect(told).to.deep.equal(['first']);
    made(client('second'));
    expect(told).to.deep.equal(['first', 'second']);
  });

  it('are told without waiting at the end, if there are any', () => {
    const { made, end } = announcements();
    made(client('first'));
    made(client('second'));
    end();
    expect(told).to.deep.equal(['first', 'second']);
    expect(pauses.map(({ isCancelled }) => isCancelled)).to.deep.equal([true]);
    announcements().end();
    expect(told).to.deep.equal(['first', 'second']);
  });
});
