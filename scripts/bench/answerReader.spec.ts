import { expect } from 'chai';
import { createAnswerReader } from './answerReader.ts';

const answer = (status: number, body: string) =>
  Buffer.from(
    `HTTP/1.1 ${status} Word\r\nX-Any: 1\r\nContent-Length: ${body.length}\r\nDate: now\r\n\r\n${body}`,
  );

describe('the answer reader of the load generator', () => {
  it('knows where an answer ends, wherever it is split', () => {
    const bytes = answer(200, '{"balance":"10"}');
    for (let cut = 1; cut < bytes.length; cut++) {
      const reader = createAnswerReader(true);
      expect(reader.read(Buffer.from(bytes.subarray(0, cut))), `cut at ${cut}`).to.equal(false);
      expect(reader.read(Buffer.from(bytes.subarray(cut))), `cut at ${cut}`).to.equal(true);
      expect(reader).to.include({ status: 200, body: '{"balance":"10"}' });
    }
  });

  it('copies what it keeps, because the memory of a chunk is reused', () => {
    const reader = createAnswerReader(true);
    const bytes = answer(200, 'abcdef');
    const chunk = Buffer.alloc(bytes.length);
    bytes.copy(chunk, 0, 0, 20);
    reader.read(chunk.subarray(0, 20));
    bytes.copy(chunk, 0, 20, bytes.length - 2);
    reader.read(chunk.subarray(0, bytes.length - 22));
    bytes.copy(chunk, 0, bytes.length - 2);
    expect(reader.read(chunk.subarray(0, 2))).to.equal(true);
    expect(reader.body).to.equal('abcdef');
  });

  it('reads one answer after another', () => {
    const reader = createAnswerReader(false);
    expect(reader.read(answer(200, 'first'))).to.equal(true);
    expect(reader.read(answer(200, ''))).to.equal(true);
    expect(reader.read(answer(409, 'refused'))).to.equal(true);
    expect(reader).to.include({ status: 409, body: 'refused' });
  });

  it('keeps no body of an expected answer unless asked to', () => {
    const reader = createAnswerReader(false);
    reader.read(answer(200, 'long'));
    expect(reader.body).to.equal('');
  });

  it('stops at what it cannot parse', () => {
    const chunked = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    expect(() => createAnswerReader(false).read(chunked)).to.throw('no content length');
    expect(() => createAnswerReader(false).read(Buffer.from('SSH-2.0-banner\r\n\r\n'))).to.throw('HTTP/1.1');
    const two = Buffer.concat([answer(200, 'a'), answer(200, 'b')]);
    expect(() => createAnswerReader(false).read(two)).to.throw('longer');
  });
});
