/** A server with users and the metadata of the stream `$all` and nothing else: what an administrator sets up. */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import usersService from '@eventstore/db-client/generated/users_grpc_pb.js';
import users from '@eventstore/db-client/generated/users_pb.js';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';

export interface UserServer {
  readonly port: number;
  readonly users: readonly { readonly name: string; readonly password: string; readonly groups: string[] }[];
  /** All versions, of `$all`. */
  readonly metadata: readonly unknown[];
  stop(): void;
}

const STREAM = '$$$all';

export async function startUserServer(): Promise<UserServer> {
  const server = new Server();
  const made: { name: string; password: string; groups: string[] }[] = [];
  const metadata: unknown[] = [];

  server.addService(usersService.UsersService, {
    create(
      call: { request: users.CreateReq },
      reply: (error: object | null, done?: users.CreateResp) => void,
    ) {
      const asked = call.request.getOptions();
      const name = asked?.getLoginName() ?? '';
      if (made.some((user) => user.name === name)) {
        const trailers = new Metadata();
        trailers.set('exception', 'user-conflict');
        reply({ code: status.ALREADY_EXISTS, details: 'User exists.', metadata: trailers });
        return;
      }
      made.push({ name, password: asked?.getPassword() ?? '', groups: asked?.getGroupsList() ?? [] });
      reply(null, new users.CreateResp());
    },
  });
  server.addService(streamsService.StreamsService, {
    read(call: { write(answer: streams.ReadResp): void; end(): void }) {
      const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(STREAM));
      const last = metadata.at(-1);
      if (last === undefined) {
        const none = new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier);
        call.write(new streams.ReadResp().setStreamNotFound(none));
      } else {
        const event = new streams.ReadResp.ReadEvent.RecordedEvent()
          .setId(new shared.UUID().setString('00000000-0000-4000-8000-000000000000'))
          .setStreamIdentifier(identifier)
          .setStreamRevision(`${metadata.length - 1}`)
          .setData(Buffer.from(JSON.stringify(last)));
        event
          .getMetadataMap()
          .set('type', '$metadata')
          .set('content-type', 'application/json')
          .set('created', '0');
        call.write(new streams.ReadResp().setEvent(new streams.ReadResp.ReadEvent().setEvent(event)));
      }
      call.end();
    },
    async append(
      call: AsyncIterable<streams.AppendReq>,
      reply: (error: null, answer: streams.AppendResp) => void,
    ) {
      for await (const part of call) {
        const message = part.getProposedMessage();
        if (message) metadata.push(JSON.parse(Buffer.from(message.getData_asU8()).toString()));
      }
      const success = new streams.AppendResp.Success().setCurrentRevision(`${metadata.length - 1}`);
      reply(null, new streams.AppendResp().setSuccess(success));
    },
    batchAppend() {},
    delete() {},
    tombstone() {},
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
  return { port, users: made, metadata, stop: () => server.forceShutdown() };
}
