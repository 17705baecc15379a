import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { sendJson } from './reply.ts';

const answerOf = () => new ServerResponse(new IncomingMessage(new Socket()));

describe('answers', () => {
  it('that are made in one turn are sent together, eight at a time', async () => {
    const answers = Array.from({ length: 20 }, answerOf);
    const sent = () => answers.filter(({ writableEnded }) => writableEnded).length;
    const sentWhenMade: number[] = [];
    await Promise.all(
      answers.map(async (answer, index) => {
        // Some take more steps, but wait for nothing.
        for (let step = 0; step <= index; step++) await undefined;
        sendJson(answer, 200, {}, `{"index":${index}}`);
        sentWhenMade.push(sent());
      }),
    );
    const counts = [0, 8, 16].map((count) => sentWhenMade.filter((one) => one === count).length);
    expect(counts).to.deep.equal([7, 8, 5]);
    await nextTurn();
    expect(sent()).to.equal(answers.length);
  });

  it('are given as soon as they are made: nothing else may answer', () => {
    const answer = answerOf();
    sendJson(answer, 200, {}, '{}');
    expect(answer.headersSent).to.equal(true);
  });

  it('that are made in a later turn are sent as well', async () => {
    for (const answer of [answerOf(), answerOf()]) {
      sendJson(answer, 204, {}, undefined);
      expect(answer.writableEnded).to.equal(false);
      await nextTurn();
      expect(answer.writableEnded).to.equal(true);
    }
  });
});
