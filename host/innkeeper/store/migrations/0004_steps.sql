-- What a turn has done once and for all. It is forgotten with the turn's end: an ended turn does not run again.
CREATE TABLE steps (
    turn   INTEGER NOT NULL REFERENCES turns,
    key    TEXT NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (turn, key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER steps_forgotten AFTER UPDATE OF state ON turns WHEN new.state IN ('ended', 'withdrawn') BEGIN
    DELETE FROM steps WHERE turn = new.id;
END;
