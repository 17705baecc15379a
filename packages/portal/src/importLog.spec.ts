import { randomUUID } from 'node:crypto';
import { type EventStore, ourLog, type RecordedEvent, StoreUnreachableError } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { type Rejection, streamName } from '@coffer/kernel';
import { refusalOf } from '@coffer/testing';
import { expect } from 'chai';
import { importLog } from './importLog.ts';
import { exportedEvent, storedEventLine } from './storedEventLine.ts';

/** The last two contain texts that do not survive parsing and writing out again. */
const TEXTS = [
  '{"amount":"12","nested":{"b":1,"a":[null,true]}}',
  '{"__proto__":{"x":1},"text":"ä\\u2028\\n"}',
  '{ "spaced" : 1.0 }',
  '{"b":1,"2":2,"1":12345678901234567890}',
] as const;

const streamOf = (id: string) => streamName('thing', 'test', `app_${'0'.repeat(26)}`, id);

describe('an import of streams', () => {
  let source: EventStore;
  let target: EventStore;
  let lines: string[];
  /** The calls to the chain, in order. */
  let chained: string[];

  beforeEach(async () => {
    source = createMemoryEventStore();
    target = createMemoryEventStore();
    chained = [];
    for (const [stream, count] of [
      [streamOf('one'), 3],
      [streamOf('other'), 1],
      [streamOf('one'), 2],
      [streamOf('long'), 250],
    ] as const) {
      await appendTo(source, stream, count);
    }
    lines = (await eventsOf(source)).map((event) => `${JSON.stringify(storedEventLine(event))}\n`);
  });

  const appendTo = async (store: EventStore, stream: string, count: number) => {
    const events = Array.from({ length: count }, (_, index) => {
      const text = TEXTS[index % TEXTS.length] ?? '{}';
      return { id: randomUUID(), type: `Type${index}`, data: text, metadata: text };
    });
    await store.append({ stream, expectedRevision: 'any', events });
  };

  const importing = (text: string | Buffer, store: EventStore = target, chunkBytes = 1_000) =>
    importLog({
      chunks: chunksOf(Buffer.from(text), chunkBytes),
      store,
      chain: {
        take: async ({ id }) => void chained.push(id),
        stands: async (position) => void chained.push(position),
      },
      onProgress() {},
    });

  /** The refusal, after which the target holds no more than the first line. */
  const refusal = async (text: string | Buffer, code: string, holdsUpTo: number) => {
    const rejection = await refusalOf(importing(text));
    expect(rejection.code).to.equal(code);
    const held = contentsOf(await eventsOf(target));
    expect(held.length).to.be.at.most(holdsUpTo);
    expect(held).to.deep.equal(contentsOf(await eventsOf(source)).slice(0, held.length));
    return rejection.details;
  };

  it('writes every event as it was, at its ordinal, however its bytes arrive', async () => {
    const events = contentsOf(await eventsOf(source));
    expect(await importing(lines.join(''))).to.deep.equal({ events: 256, appended: 256, passedOver: 0 });
    expect(contentsOf(await eventsOf(target))).to.deep.equal(events);

    const again = createMemoryEventStore();
    await importing(lines.join(''), again, 1);
    expect(contentsOf(await eventsOf(again))).to.deep.equal(events);
  });

  it('appends a long stream in parts, each of a size that every store takes', async () => {
    await appendTo(source, streamOf('longer'), 1_200);
    for (let revision = 0; revision < 3; revision++) {
      const data = JSON.stringify({ text: 'ä'.repeat(200_000) });
      const event = { id: randomUUID(), type: 'Large', data, metadata: '{}' };
      await source.append({ stream: streamOf('large'), expectedRevision: 'any', events: [event] });
    }
    lines = (await eventsOf(source)).map((event) => `${JSON.stringify(storedEventLine(event))}\n`);
    const sizes: number[] = [];
    const counting: EventStore = {
      ...target,
      append: (request) => {
        sizes.push(request.events.length);
        return target.append(request);
      },
    };
    await importing(lines.join(''), counting, 64 * 1024);
    expect(sizes).to.deep.equal([3, 1, 2, 250, 500, 500, 200, 1, 1, 1]);
    expect(contentsOf(await eventsOf(target))).to.deep.equal(contentsOf(await eventsOf(source)));
  });

  it('tells the chain of each event before it stands, and of the position at which it then stands', async () => {
    await importing(lines.join(''));
    const events = await eventsOf(target);
    let taken = 0;
    for (const told of chained) {
      if (told === events[taken]?.id) taken += 1;
      else expect(told).to.equal(events[taken - 1]?.position);
    }
    expect(taken).to.equal(events.length);
    expect(chained.at(-1)).to.equal(events.at(-1)?.position);
  });

  it('continues where a killed one stopped, and changes nothing when it is repeated', async () => {
    await importing(lines.slice(0, 5).join(''));
    expect(await importing(lines.join(''))).to.deep.equal({ events: 256, appended: 251, passedOver: 0 });
    const events = await eventsOf(target);
    expect(await importing(lines.join(''))).to.deep.equal({ events: 256, appended: 0, passedOver: 0 });
    expect(await eventsOf(target)).to.deep.equal(events);
  });

  it('continues where the store became unreachable', async () => {
    let left = 3;
    const failing: EventStore = {
      ...target,
      append: (request) => {
        left -= 1;
        if (left < 0) return Promise.reject(new StoreUnreachableError('away'));
        return target.append(request);
      },
    };
    await importing(lines.join(''), failing).then(
      () => expect.fail('It went through.'),
      (error: unknown) => expect(error).to.be.instanceOf(StoreUnreachableError),
    );
    expect(await importing(lines.join(''))).to.include({ events: 256 });
    expect(contentsOf(await eventsOf(target))).to.deep.equal(contentsOf(await eventsOf(source)));
  });

  it('writes nothing into a log that holds another event', async () => {
    await appendTo(target, streamOf('one'), 1);
    const before = await eventsOf(target);
    const { line } = await importing(lines.join('')).then(
      () => expect.fail('It was not refused.'),
      (error: Rejection) => {
        expect(error.code).to.equal('portal/log_not_empty');
        return error.details;
      },
    );
    expect(line).to.equal(1);
    expect(await eventsOf(target)).to.deep.equal(before);
  });

  for (const [what, from, to] of [
    ['id', /"id":"[^"]*/, `"id":"${randomUUID()}`],
    ['type', '"Type0"', '"Type1"'],
    ['data', '"data":{"amount":"12"', '"data":{"amount":"13"'],
    ['metadata', '"metadata":{"amount":"12"', '"metadata":{"amount":"13"'],
  ] as const) {
    it(`writes nothing into a log that holds an event with another ${what}`, async () => {
      await importing(lines.slice(0, 4).join(''));
      const changed = (lines[0] ?? '').replace(from, to);
      expect(changed).to.not.equal(lines[0]);
      const details = await refusal([changed, ...lines.slice(1)].join(''), 'portal/log_not_empty', 4);
      expect(details).to.include({ line: 1 });
    });
  }

  it('is refused by a log that continues after the lines', async () => {
    await importing(lines.join(''));
    const details = await refusal(lines.slice(0, -1).join(''), 'portal/log_not_empty', 256);
    expect(details).to.include({ lines: 255 });
  });

  it('passes over what other users have written: in the lines, and into the log', async () => {
    const shared = createMemoryEventStore();
    await appendTo(shared, 'order-2', 3);
    const store: EventStore = {
      ...ourLog(shared),
      append: async (request) => {
        await appendTo(shared, 'order-2', 1);
        return shared.append(request);
      },
    };
    const [theirs] = await eventsOf(shared);
    const line = `${JSON.stringify(storedEventLine(theirs as RecordedEvent))}\n`;
    const text = [line, ...lines.slice(0, 4), line, ...lines.slice(4)].join('');
    expect(await importing(text, store)).to.deep.equal({ events: 256, appended: 256, passedOver: 2 });
    const hashed = (await eventsOf(store)).map(
      ({ position: _position, recordedAt: _recordedAt, ...event }) => event,
    );
    const meant = (await eventsOf(source)).map(
      ({ position: _position, recordedAt: _recordedAt, ...event }) => event,
    );
    expect(hashed).to.deep.equal(meant);
    expect(await importing(text, store)).to.deep.equal({ events: 256, appended: 0, passedOver: 2 });
  });

  it('is refused where somebody else writes', async () => {
    const shared: EventStore = {
      ...target,
      append: async (request) => {
        await appendTo(target, streamOf('elsewhere'), 1);
        return target.append(request);
      },
    };
    await importing(lines.join(''), shared).then(
      () => expect.fail('It was not refused.'),
      (error: Rejection) => expect(error.details).to.deep.equal({ line: 1, writtenByOthers: 1 }),
    );
  });

  for (const [what, change, line, reason] of [
    ['a cut-off last line', (all) => all.join('').slice(0, -20), 256, /cut off/],
    ['a last line without its end', (all) => all.join('').slice(0, -1), 256, /cut off/],
    ['a line that is no JSON', (all) => all.toSpliced(4, 1, 'x\n').join(''), 5, /JSON/],
    ['an empty line', (all) => all.toSpliced(4, 0, '\n').join(''), 5, /JSON/],
    ['an array of lines, as --json prints', (all) => `[\n${all.join('')}]`, 1, /JSON/],
    ['a line of something else', (all) => all.toSpliced(4, 1, '{"a":1}\n').join(''), 5, /position/],
    ['a line without metadata', (all) => replaced(all, 4, /,"metadata":.*,"rec/, ',"rec'), 5, /metadata/],
    ['an invalid id', (all) => replaced(all, 4, /"id":"./, '"id":"x'), 5, /id/],
    ['an invalid time', (all) => replaced(all, 4, /"recordedAt":"2/, '"recordedAt":"x'), 5, /recordedAt/],
    ['a gap in a stream', (all) => all.toSpliced(4, 1).join(''), 5, /does not follow/],
    ['a stream that lacks its beginning', (all) => all.slice(4).join(''), 1, /does not exist yet/],
    ['lines in another order', (all) => [...all.slice(4), ...all.slice(0, 4)].join(''), 1, /does not follow/],
    ['a line twice', (all) => all.toSpliced(4, 0, all[1] ?? '').join(''), 5, /imported before/],
    ['all lines twice', (all) => [...all, ...all].join(''), 257, /imported before/],
    ['a text that no store takes', (all) => replaced(all, 4, /"Type0"/, '"a\\u0000"'), 5, /NUL/],
  ] as readonly (readonly [string, (all: string[]) => string, number, RegExp])[]) {
    it(`ends before ${what}, and names the line`, async () => {
      const details = await refusal(change(lines), 'portal/invalid_line', line - 1);
      expect(details).to.include({ line });
      expect(details.reason).to.match(reason);
    });
  }

  it('ends before bytes that are not text, and names the line', async () => {
    const text = Buffer.from(lines.join(''));
    const start = Buffer.byteLength(lines.slice(0, 4).join(''));
    text[start + 30] = 0xff;
    expect(await refusal(text, 'portal/invalid_line', 4)).to.include({ reason: 'it is not UTF-8' });
  });
});

describe('a line of an export', () => {
  const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
  for (const text of [...TEXTS, 'no JSON', '"x"', '{"dataText":"x"}', deep]) {
    it(`gives ${text.slice(0, 80)} back to the byte`, () => {
      const event: RecordedEvent = {
        stream: streamOf('a-b'),
        revision: 3,
        id: randomUUID(),
        type: 'T',
        data: text,
        metadata: text,
        // A store gives positions and times; the line carries both.
        position: '7' as RecordedEvent['position'],
        recordedAt: new Date('2026-01-31T12:00:00.123Z'),
      };
      const { position: _position, ...expected } = event;
      const line = JSON.stringify(storedEventLine(event));
      expect(exportedEvent(line, expect.fail)).to.deep.equal(expected);
    });
  }
});

const replaced = (all: readonly string[], index: number, what: RegExp, by: string): string =>
  all.map((line, at) => (at === index ? line.replace(what, by) : line)).join('');

const contentsOf = (events: readonly RecordedEvent[]) =>
  events.map(({ recordedAt: _recordedAt, ...contents }) => contents);

async function eventsOf(store: EventStore): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const page of store.readAll()) events.push(...page);
  return events;
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}
