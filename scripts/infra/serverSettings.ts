/**
 * The KurrentDB settings that we know to exist. The server refuses to start with an unknown one, and no
 * engine runs in the specs to tell us. Source: the documentation of version 26.0, docs/server/configuration,
 * docs/server/security and docs/server/usage-telemetry.md of its repository.
 */
export const SERVER_SETTINGS: readonly string[] = [
  'KURRENTDB_CERTIFICATE_FILE',
  'KURRENTDB_CERTIFICATE_PRIVATE_KEY_FILE',
  'KURRENTDB_CLUSTER_SIZE',
  'KURRENTDB_DEFAULT_ADMIN_PASSWORD',
  'KURRENTDB_DEFAULT_OPS_PASSWORD',
  'KURRENTDB_DISABLE_LOG_FILE',
  'KURRENTDB_DISCOVER_VIA_DNS',
  'KURRENTDB_GOSSIP_SEED',
  'KURRENTDB_NODE_HOST_ADVERTISE_AS',
  'KURRENTDB_NODE_IP',
  'KURRENTDB_NODE_PORT',
  'KURRENTDB_REPLICATION_HOST_ADVERTISE_AS',
  'KURRENTDB_REPLICATION_IP',
  'KURRENTDB_REPLICATION_PORT',
  'KURRENTDB_RUN_PROJECTIONS',
  'KURRENTDB_SECONDARY_INDEXING__ENABLED',
  'KURRENTDB_TELEMETRY_OPTOUT',
  'KURRENTDB_TRUSTED_ROOT_CERTIFICATES_PATH',
];
