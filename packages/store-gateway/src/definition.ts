/** The service of streams, with the one field that the client's published definitions lack. */
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams, { type BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js';
import jspb from 'google-protobuf';
import duration from 'google-protobuf/google/protobuf/duration_pb.js';
import timestamp from 'google-protobuf/google/protobuf/timestamp_pb.js';

const { batchAppend } = streamsService.StreamsService;

export const streamsDefinition = {
  ...streamsService.StreamsService,
  batchAppend: { ...batchAppend, requestDeserialize: batchAppendRequest },
};

/** The fields by their numbers in the protocol. */
const OPTIONS = 2;
const DEADLINE_AS_DURATION = 7;
const NANOS_PER_MS = 1e6;

/** Newer clients send how long they wait; counted from now, that is the moment that older ones send. */
function batchAppendRequest(bytes: Uint8Array): BatchAppendReq {
  const request = streams.BatchAppendReq.deserializeBinary(bytes);
  const options = request.getOptions();
  const left = options && lastField(lastField(bytes, OPTIONS), DEADLINE_AS_DURATION);
  if (!left) return request;
  const { seconds, nanos } = duration.Duration.deserializeBinary(left).toObject();
  const atMs = Date.now() + seconds * 1_000 + nanos / NANOS_PER_MS;
  const atSeconds = Math.floor(atMs / 1_000);
  options.setDeadline(
    new timestamp.Timestamp().setSeconds(atSeconds).setNanos((atMs - atSeconds * 1_000) * NANOS_PER_MS),
  );
  return request;
}

/** The bytes of a field that holds a message; undefined if absent. */
function lastField(bytes: Uint8Array | undefined, number: number): Uint8Array | undefined {
  if (!bytes) return undefined;
  const reader = new jspb.BinaryReader(bytes);
  let found: Uint8Array | undefined;
  while (reader.nextField()) {
    if (reader.getFieldNumber() === number) found = reader.readBytes();
    else reader.skipField();
  }
  return found;
}
