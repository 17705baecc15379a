/** The OpenAPI documents of a service: the operator's endpoints have a separate one. */
import { type Client, requireStatus } from '@coffer/host/testing';

type Document = Readonly<Record<string, unknown>>;

const ADDRESSES = ['/openapi.json', '/operator/openapi.json'];

export const openApiDocuments = async (client: Client): Promise<readonly Document[]> =>
  Promise.all(
    ADDRESSES.map(async (address) => requireStatus(await client.get(address, { key: null }), 200).json),
  );

/** Everything the service offers, as if in one document. */
export async function openApiPaths(client: Client): Promise<Document> {
  const documents = await openApiDocuments(client);
  return { paths: Object.assign({}, ...documents.map(({ paths }) => paths)) };
}
