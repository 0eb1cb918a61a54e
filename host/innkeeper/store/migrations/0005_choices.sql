-- What the caller has chosen for a session; empty where nothing.
ALTER TABLE sessions ADD COLUMN preset TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN provider TEXT NOT NULL DEFAULT '';
