-- Tokens that the host issues. Of a secret there is a SHA-256 only; the one before the last rotation works for a while.
-- tenants is a JSON array of ids.
CREATE TABLE api_tokens (
    id                TEXT PRIMARY KEY,
    name              TEXT NOT NULL,
    caller            TEXT NOT NULL,
    tenants           TEXT NOT NULL,
    operator          INTEGER NOT NULL,
    created_at_us     INTEGER NOT NULL,
    expires_at_us     INTEGER,
    digest            BLOB NOT NULL,
    previous_digest   BLOB,
    previous_until_us INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
