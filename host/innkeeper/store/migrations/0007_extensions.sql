-- The extensions that the message asked for, separated by spaces.
ALTER TABLE turns ADD COLUMN extensions TEXT NOT NULL DEFAULT '';

DROP VIEW unfinished_turns;
CREATE VIEW unfinished_turns AS
SELECT r.id, o.tenant, r.caller, s.id AS session_id, t.id AS task_id, t.context_id, r.ordinal, m.body, m.at_us,
       r.metadata, r.extensions, r.attempt, r.gated, r.state
FROM turns r INDEXED BY turns_unfinished
    CROSS JOIN messages m ON m.session = r.session AND m.turn = r.id AND m.role = 'user' AND m.said_in IS NULL
    JOIN tasks t ON t.key = r.task
    JOIN owners o ON o.key = t.owner
    JOIN sessions s ON s.key = r.session
WHERE r.state IN ('queued', 'claimed', 'running');
