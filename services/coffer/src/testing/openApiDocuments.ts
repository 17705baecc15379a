/** The OpenAPI documents of a service: what operators ask for has one of its own. */
import { type Client, requireStatus } from '@coffer/host/testing';

type Document = Readonly<Record<string, unknown>>;

const ADDRESSES = ['/openapi.json', '/operator/openapi.json'];

export const openApiDocuments = async (client: Client): Promise<readonly Document[]> =>
  Promise.all(
    ADDRESSES.map(async (address) => requireStatus(await client.get(address, { key: null }), 200).json),
  );

/** All that the service has, as if it were one document. */
export async function openApiPaths(client: Client): Promise<Document> {
  const documents = await openApiDocuments(client);
  return { paths: Object.assign({}, ...documents.map(({ paths }) => paths)) };
}
