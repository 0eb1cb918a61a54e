-- Times are microseconds since the Unix epoch. Rows refer to each other by integer keys: they are small, and grow in the
-- order of arrival, so that what is written together lies together.

-- A caller at a tenant: whoever owns sessions and tasks.
CREATE TABLE owners (
    key    INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    UNIQUE (tenant, caller)
) STRICT;

-- context_id is empty where the caller has one session for all contexts.
CREATE TABLE sessions (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    owner      INTEGER NOT NULL REFERENCES owners,
    context_id TEXT NOT NULL,
    UNIQUE (owner, context_id)
) STRICT;

-- status_seq is the number of the event that brought the status.
CREATE TABLE tasks (
    key           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    owner         INTEGER NOT NULL REFERENCES owners,
    session       INTEGER NOT NULL REFERENCES sessions,
    context_id    TEXT NOT NULL,
    state         TEXT NOT NULL,
    status        BLOB NOT NULL,
    status_at_us  INTEGER NOT NULL,
    status_seq    INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_by_state ON tasks (owner, state, status_at_us, id);
CREATE INDEX tasks_by_context ON tasks (owner, context_id);

-- Tasks that may still be written to. Every write of an event goes through this view.
CREATE VIEW open_tasks AS
SELECT * FROM tasks WHERE state NOT IN ('completed', 'failed', 'canceled', 'rejected');

-- How many tasks an owner has in each state.
CREATE TABLE task_counts (
    owner INTEGER NOT NULL REFERENCES owners,
    state TEXT NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (owner, state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER task_counted AFTER INSERT ON tasks BEGIN
    INSERT INTO task_counts (owner, state, n) VALUES (new.owner, new.state, 1)
        ON CONFLICT (owner, state) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER task_recounted AFTER UPDATE OF state ON tasks WHEN old.state <> new.state BEGIN
    UPDATE task_counts SET n = n - 1 WHERE owner = old.owner AND state = old.state;
    INSERT INTO task_counts (owner, state, n) VALUES (new.owner, new.state, 1)
        ON CONFLICT (owner, state) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER task_discounted AFTER DELETE ON tasks BEGIN
    UPDATE task_counts SET n = n - 1 WHERE owner = old.owner AND state = old.state;
END;

-- A row of its own, because tasks are rewritten often and artifacts may be large. Artifact events up to folded_seq are
-- in the body.
CREATE TABLE artifacts (
    task       INTEGER PRIMARY KEY REFERENCES tasks,
    body       BLOB NOT NULL,
    folded_seq INTEGER NOT NULL
) STRICT;

-- seq counts from 1 per task, without gaps. data is what the host notes beside what streams carry, as a JSON object.
CREATE TABLE events (
    task  INTEGER NOT NULL REFERENCES tasks,
    seq   INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    state TEXT,
    body  BLOB NOT NULL,
    at_us INTEGER NOT NULL,
    data  TEXT NOT NULL,
    PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

-- state: queued -> claimed -> running -> ended, or withdrawn; holder is who has claimed it. Ids are never used again:
-- a run that outlives its turn must not write to another. Of a session, one turn is out at a time.
CREATE TABLE turns (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    task     INTEGER NOT NULL REFERENCES tasks,
    session  INTEGER NOT NULL REFERENCES sessions,
    ordinal  INTEGER NOT NULL,
    caller   TEXT NOT NULL,
    metadata TEXT NOT NULL,
    attempt  INTEGER NOT NULL DEFAULT 0,
    gated    INTEGER NOT NULL DEFAULT 0,
    state    TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'claimed', 'running', 'ended', 'withdrawn')),
    holder   TEXT NOT NULL DEFAULT '',
    UNIQUE (task, ordinal)
) STRICT;
CREATE UNIQUE INDEX turns_out ON turns (session) WHERE state IN ('claimed', 'running');
CREATE INDEX turns_unfinished ON turns (session) WHERE state IN ('queued', 'claimed', 'running');

-- status_seq is the number of the event whose status carries the message; none for what the caller said.
CREATE TABLE messages (
    key        INTEGER PRIMARY KEY,
    session    INTEGER NOT NULL REFERENCES sessions,
    task       INTEGER NOT NULL REFERENCES tasks,
    turn       INTEGER NOT NULL REFERENCES turns,
    id         TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('user', 'agent')),
    body       BLOB NOT NULL,
    at_us      INTEGER NOT NULL,
    status_seq INTEGER
) STRICT;
CREATE INDEX messages_by_task ON messages (task);
CREATE INDEX messages_by_session ON messages (session, turn);

-- Which task a message id of an owner went to; digest identifies the message as it was sent.
CREATE TABLE receipts (
    owner      INTEGER NOT NULL REFERENCES owners,
    message_id TEXT NOT NULL,
    digest     BLOB NOT NULL,
    task       INTEGER NOT NULL,
    PRIMARY KEY (owner, message_id)
) STRICT, WITHOUT ROWID;

-- Rows as the code reads them.
CREATE VIEW task_records AS
SELECT t.id, o.tenant, o.caller, s.id AS session_id, t.context_id, t.state, t.status, t.status_at_us,
       (SELECT max(e.seq) FROM events e WHERE e.task = t.key) AS seq,
       t.key, t.owner, t.session, t.status_seq
FROM tasks t JOIN owners o ON o.key = t.owner JOIN sessions s ON s.key = t.session;

-- The order of the joins is given: a host that starts reads what is unfinished, not every message there ever was.
CREATE VIEW unfinished_turns AS
SELECT r.id, o.tenant, r.caller, s.id AS session_id, t.id AS task_id, t.context_id, r.ordinal, m.body, m.at_us,
       r.metadata, r.attempt, r.gated, r.state
FROM turns r INDEXED BY turns_unfinished
    CROSS JOIN messages m ON m.session = r.session AND m.turn = r.id AND m.role = 'user'
    JOIN tasks t ON t.key = r.task
    JOIN owners o ON o.key = t.owner
    JOIN sessions s ON s.key = r.session
WHERE r.state IN ('queued', 'claimed', 'running');
