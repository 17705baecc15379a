/** The embedded server could not be started or stopped. The message says what to do about it. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

/** Another process owns the data folder. Its server was left alone. */
export class DataFolderInUseError extends Error {
  override readonly name = 'DataFolderInUseError';
  /** As the owner introduced itself, for example `coffer owner, pid 4711 on games-1`. */
  readonly owner: string;

  constructor(folder: string, owner: string) {
    super(
      `The data folder ${folder} is in use by another process (${owner}). ` +
        'Stop that process first, or set COFFER_DATA_DIR to another folder.',
    );
    this.owner = owner;
  }
}
