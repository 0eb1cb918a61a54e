-- Where the events of a task are pushed to. Empty is unsaid. token and credentials are kept as they are, since they are
-- sent with every push, and are read for that only.
CREATE TABLE push_configs (
    task        INTEGER NOT NULL REFERENCES tasks,
    id          TEXT NOT NULL,
    url         TEXT NOT NULL,
    token       TEXT NOT NULL,
    scheme      TEXT NOT NULL,
    credentials TEXT NOT NULL,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
