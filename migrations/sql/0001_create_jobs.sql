-- Times are µs since 1970-01-01T00:00:00Z. A column that ends in _us and says nothing else is wall
-- time; "on the job's clock" is wall time for jobs whose clock is 'wall', and for 'elapsed' jobs a
-- clock that steps of the wall clock do not touch: wall time = elapsed time + daemon_state.shift_us.

-- Conditions are written word by word: SQLite builds a table for each list of more than two words behind
-- IN, at each statement that evaluates it, which was a third of what a fire's writes cost.

-- One row, the daemon's own.
CREATE TABLE daemon_state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- The boot in which elapsed time = CLOCK_BOOTTIME + elapsed_base_us.
    boot_id TEXT NOT NULL,
    elapsed_base_us INTEGER NOT NULL,
    shift_us INTEGER NOT NULL,
    -- Elapsed time when it was last written; time does not go back behind it.
    elapsed_us INTEGER NOT NULL,
    -- Sequence numbers below this one may have been used; stored before any of them is.
    event_seq_end INTEGER NOT NULL,
    -- Live jobs by state, so that a status need not count them; without what the outbox counts.
    scheduled INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    -- How many jobs are held.
    held INTEGER NOT NULL DEFAULT 0,
    -- The highest number of an event that was removed for its age, or for being one too many.
    events_pruned INTEGER NOT NULL DEFAULT 0,
    -- Numbers up to this one are used, though the table may have no row with the last of them any more. A new
    -- row gets the number after the highest of these and of the rows: so no number is used twice, and in
    -- the daemon's life only the removal of the newest row, by a trigger, writes here. AUTOINCREMENT writes a page for each new row.
    jobs_through INTEGER NOT NULL DEFAULT 0,
    fires_through INTEGER NOT NULL DEFAULT 0,
    runs_through INTEGER NOT NULL DEFAULT 0,
    notices_through INTEGER NOT NULL DEFAULT 0,
    -- How many notices wait to be handed over, and how many summaries are held back before their first try. Kept
    -- by triggers, so that no write can leave one out.
    notices_waiting INTEGER NOT NULL DEFAULT 0,
    notices_held INTEGER NOT NULL DEFAULT 0,
    -- In a copy that was made by a backup: when. Whoever starts on it skips the numbers that the
    -- original may have given out since.
    copied_at_us INTEGER
) STRICT;

INSERT INTO daemon_state
    (one, boot_id, elapsed_base_us, shift_us, elapsed_us, event_seq_end, scheduled, paused)
VALUES (1, '', 0, 0, 0, 1, 0, 0);

-- Who has, or had, jobs: a uid with the name that it had, for it is given to somebody else once its user
-- was removed. Row 0 is root's, whatever root is called.
CREATE TABLE owners (
    id INTEGER PRIMARY KEY,
    uid INTEGER NOT NULL,
    name TEXT NOT NULL,
    -- How many live jobs it has, so that a limit need not count them; without what the outbox counts.
    live INTEGER NOT NULL,
    -- Why its jobs are held: its name and uid no longer match. NULL where they do.
    held TEXT,
    -- What is stored of it: 1024 for each job, live or ended, and the bytes of its definition, its userInfo,
    -- of what is kept of its runs' output, of event_words, and of the errors of runs and the reasons of events that
    -- are more than 32 bytes. Kept by triggers, so that no write can leave it out, but for new jobs and the reasons of
    -- events that are still to be told, whose bytes are counted in the outbox.
    bytes INTEGER NOT NULL DEFAULT 0,
    -- The highest number of an event of the owner that was removed.
    events_pruned INTEGER NOT NULL DEFAULT 0,
    -- Since when it is in maintenance: new jobs begin paused. NULL while it is not.
    maintenance_us INTEGER,
    UNIQUE (uid, name)
) STRICT;

INSERT INTO owners (id, uid, name, live) VALUES (0, 0, 'root', 0);

-- What changes as a job lives: a short row, rewritten by each of its fires.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    owner_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state = 'scheduled' OR state = 'finished'
        OR state = 'paused' OR state = 'invalidated'),
    clock TEXT NOT NULL CHECK (clock IN ('wall', 'elapsed')),
    -- The date of a one-shot, the first date of a grid; on the job's clock.
    anchor_us INTEGER,
    -- The next date; on the job's clock. NULL once there is none, and for @reboot until the next
    -- start of the machine.
    fire_date_us INTEGER,
    -- When the fire of that date is due: later by its jitter.
    due_us INTEGER,
    -- The schedule's date that fire_date_us was moved away from.
    moved_from_us INTEGER,
    -- The fire that is claimed for fire_date_us, or NULL.
    claim_id INTEGER,
    fires INTEGER NOT NULL DEFAULT 0,
    -- How many rows its history has grown by since that was last cut.
    rows_since_trim INTEGER NOT NULL DEFAULT 0,
    ended_at_us INTEGER,
    end_reason TEXT,
    -- Why it is held: it fires no date until that is over. NULL for one that is not.
    held TEXT,
    -- Grows with each change of its name or its userInfo: an event says by it which of them it tells.
    revision INTEGER NOT NULL DEFAULT 1,
    -- The highest number of an event of it that was stored after it had ended; NULL before.
    last_seq INTEGER,
    -- The rules of its zone that its dates were computed by. NULL where it has none that may change.
    zone_rules_id INTEGER,
    -- Whether it is paused for its owner's maintenance, and goes on with its end.
    maintenance INTEGER NOT NULL DEFAULT 0,
    -- Of a job that a request has ended: by whom, and how it stood before. In this row, which the end rewrites anyway, for
    -- another would cost each end a page. Whether it was paused, other than for maintenance; fire_date_us; moved_from_us.
    undo_uid INTEGER,
    undo_paused INTEGER,
    undo_fire_date_us INTEGER,
    undo_moved_from_us INTEGER
) STRICT;

CREATE TRIGGER job_removed AFTER DELETE ON jobs
    WHEN old.id > coalesce((SELECT max(id) FROM jobs), 0)
BEGIN
    UPDATE daemon_state SET jobs_through = max(jobs_through, old.id);
END;

-- What goes on with the end of its owner's maintenance. A fire writes nothing of it.
CREATE INDEX jobs_in_maintenance ON jobs (owner_id, id) WHERE maintenance <> 0;

-- The files of zones as dates of jobs were computed by them.
CREATE TABLE zone_rules (
    -- A hash of the rest.
    id INTEGER PRIMARY KEY,
    -- As jobs name the zone; '' for the machine's own where that has no name.
    name TEXT NOT NULL,
    source BLOB NOT NULL
) STRICT;

-- Parts of a change that is more than one request holds, until they are done together, or a day old.
CREATE TABLE upload_parts (
    -- Never given twice: who has read the parts can tell that they are still the same.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    part INTEGER NOT NULL,
    -- How many jobs it ends, changes and adds.
    jobs INTEGER NOT NULL,
    kept_at_us INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- A request of job.apply, as on the wire.
    request BLOB NOT NULL,
    UNIQUE (owner_id, name, part)
) STRICT;

CREATE INDEX upload_parts_by_date ON upload_parts (kept_at_us);

-- The jobs by rules that are over. A fire writes nothing of it.
CREATE INDEX jobs_by_zone_rules ON jobs (zone_rules_id) WHERE zone_rules_id IS NOT NULL;

-- The jobs that wait for a window: what is due next, without a look at the rest.
CREATE INDEX jobs_waiting ON jobs (clock, due_us)
    WHERE state = 'scheduled' AND claim_id IS NULL AND held IS NULL;

-- The same of one user: whose turn it is while somebody has more due than the window holds, and one's own list by next fires.
CREATE INDEX jobs_waiting_by_owner ON jobs (owner_id, clock, due_us)
    WHERE state = 'scheduled' AND claim_id IS NULL AND held IS NULL;

-- One user's jobs in the order of a list, without a look at those of others. Neither column ever
-- changes, so only adding a job writes it.
CREATE INDEX jobs_by_owner ON jobs (owner_id, id);

-- The live jobs that have no next fire, which come last in a list, without a look at those that have
-- ended. A fire writes nothing of it.
CREATE INDEX jobs_idle ON jobs (id)
    WHERE (state <> 'scheduled' AND state <> 'finished' AND state <> 'invalidated')
        OR (state = 'scheduled' AND (due_us IS NULL OR held IS NOT NULL));

-- The same of one user.
CREATE INDEX jobs_idle_by_owner ON jobs (owner_id, id)
    WHERE (state <> 'scheduled' AND state <> 'finished' AND state <> 'invalidated')
        OR (state = 'scheduled' AND (due_us IS NULL OR held IS NOT NULL));

-- The held jobs, which are looked at now and then, without a look at the rest.
CREATE INDEX jobs_held ON jobs (id) WHERE held IS NOT NULL;

-- Jobs that are to be removed, in the order in which they will be.
CREATE INDEX jobs_ended ON jobs (ended_at_us) WHERE ended_at_us IS NOT NULL;

-- The same of one user, whose bytes are more than a user may have.
CREATE INDEX jobs_ended_by_owner ON jobs (owner_id, ended_at_us) WHERE ended_at_us IS NOT NULL;

-- Jobs that the next start of the machine makes due.
CREATE TABLE boot_jobs (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE
) STRICT;

-- Live jobs whose life is tied to a process, or, without a pid, to a client's connection.
CREATE TABLE job_targets (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    pid INTEGER,
    -- When the process was started, in clock ticks since boot_id's boot.
    pid_ticks INTEGER,
    boot_id TEXT NOT NULL
) STRICT;

-- What changes only when its user says so.
CREATE TABLE job_definitions (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    added_at_us INTEGER NOT NULL,
    name TEXT,
    -- The parameters of job.add as JSON, without userInfo.
    definition TEXT NOT NULL,
    -- Any JSON value.
    user_info TEXT,
    -- The job's owner, so that counting needs no look at the job, which may be gone.
    owner_id INTEGER NOT NULL,
    -- Grows with each change: who has read one can tell that it is still the same.
    revision INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE TRIGGER definition_changed AFTER UPDATE OF definition, user_info ON job_definitions BEGIN
    UPDATE owners SET bytes = bytes
        + length(CAST(new.definition AS BLOB)) - length(CAST(old.definition AS BLOB))
        + coalesce(length(CAST(new.user_info AS BLOB)), 0)
        - coalesce(length(CAST(old.user_info AS BLOB)), 0)
    WHERE id = new.owner_id;
END;

CREATE TRIGGER definition_removed AFTER DELETE ON job_definitions BEGIN
    UPDATE owners SET bytes = bytes - 1024 - length(CAST(old.definition AS BLOB))
        - coalesce(length(CAST(old.user_info AS BLOB)), 0)
    WHERE id = old.owner_id;
    DELETE FROM job_names
    WHERE owner_id = old.owner_id AND name = old.name AND job_id = old.job_id;
END;

-- The newest job of each name: the live one, or the last that was live until it is removed. Here and in job_tags job_id refers to jobs too, but is not declared to: to remove
-- a job, SQLite would look at each row, for want of an index that only this would use. The same goes for
-- each owner_id, of owners, whose rows stay.
CREATE TABLE job_names (
    owner_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    job_id INTEGER NOT NULL,
    live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
    PRIMARY KEY (owner_id, name)
) STRICT, WITHOUT ROWID;

-- The owner comes first, so that a list of one's own jobs reads no row of others.
CREATE TABLE job_tags (
    owner_id INTEGER NOT NULL,
    tag TEXT NOT NULL,
    job_id INTEGER NOT NULL,
    PRIMARY KEY (owner_id, tag, job_id)
) STRICT, WITHOUT ROWID;

-- One scheduled date of one job coming due, or a range of dates that never will: a row before it
-- is an effect. UNIQUE is what keeps a date from firing twice.
-- Beside what is said below, 'failed' is 0 where the command has not begun, and does not any more. (Said here, as what stands
-- within a table is part of the schema's fingerprint.)
CREATE TABLE fires (
    id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    -- The job's owner, whose list of runs needs no look at those of others.
    owner_id INTEGER NOT NULL,
    -- The scheduled date, on the job's clock: the fire's identity.
    fire_date_us INTEGER NOT NULL,
    -- The same in wall time, as it was known when the fire was claimed.
    wall_date_us INTEGER NOT NULL,
    -- By when it is to begin, in wall time, where jitter or tolerance puts it off; else NULL.
    due_by_us INTEGER,
    -- 'forgotten' is no fire, but the range of the dates that had one whose row is no longer kept.
    state TEXT NOT NULL CHECK (state = 'claimed' OR state = 'fired' OR state = 'running' OR state = 'done'
        OR state = 'skipped' OR state = 'waiting' OR state = 'forgotten' OR state = 'queued'
        OR state = 'reserved' OR state = 'dead'),
    reason TEXT CHECK (reason IS NULL OR reason = 'misfire' OR reason = 'coalesced' OR reason = 'misfireLimit'
        OR reason = 'misfireWindow' OR reason = 'overlap' OR reason = 'replaced' OR reason = 'lineFull'
        OR reason = 'manual' OR reason = 'skip'
        OR reason = 'moved' OR reason = 'paused' OR reason = 'clockStepped' OR reason = 'invalidated'
        OR reason = 'overload' OR reason = 'held' OR reason = 'withdrawn' OR reason = 'zoneChanged'
        OR reason = 'changed' OR reason = 'expired' OR reason = 'dropped'),
    -- How many missed dates this fire stands for.
    missed INTEGER NOT NULL DEFAULT 0,
    -- A range of skipped dates: how many there are, and the last in wall time.
    dates INTEGER NOT NULL DEFAULT 1,
    last_date_us INTEGER,
    fired_at_us INTEGER,
    -- 1 where the last attempt at its own command failed, whose run may be gone before it; else NULL.
    failed INTEGER,
    -- Of a fire whose command is still to run, or to run again: for what it waits, and until when.
    waits_for TEXT CHECK (waits_for IS NULL OR waits_for = 'place' OR waits_for = 'run'
        OR waits_for = 'retry' OR waits_for = 'onFailure' OR waits_for = 'onSuccess'),
    waits_until_us INTEGER,
    -- 1 where its job's count of fires has begun anew since, so that it is none of these; else NULL.
    uncounted INTEGER,
    UNIQUE (job_id, fire_date_us)
) STRICT;

CREATE TRIGGER fire_removed AFTER DELETE ON fires
    WHEN old.id > coalesce((SELECT max(id) FROM fires), 0)
BEGIN
    UPDATE daemon_state SET fires_through = max(fires_through, old.id);
END;

-- The order of a list of all, where a range stands at its last date, and what lies after a date: what went ahead of a
-- clock that was set back.
CREATE INDEX fires_by_date ON fires (coalesce(last_date_us, wall_date_us));

-- One user's fires in the order of a list. Root is shown all, and needs none of its own.
CREATE INDEX fires_by_owner ON fires (owner_id, coalesce(last_date_us, wall_date_us)) WHERE owner_id <> 0;

-- The ranges of dates that never will be a fire, and may hold a date that is looked for: found without
-- a look at the fires in between.
CREATE INDEX fires_ranges ON fires (job_id, fire_date_us) WHERE last_date_us IS NOT NULL;

-- The ranges that end after a date, though they begin before it.
CREATE INDEX fires_ranges_by_end ON fires (last_date_us) WHERE last_date_us IS NOT NULL;

-- The same of one user, root too: an outage leaves a range of each job.
CREATE INDEX fires_ranges_by_owner ON fires (owner_id, last_date_us) WHERE last_date_us IS NOT NULL;

-- What a crash may have left half done: all that is not known to be over, whatever a newer version calls
-- it, but for tasks, which are in a table of their own. In the order of a list, which is read far more often than a
-- crash is recovered from.
CREATE INDEX fires_open ON fires (wall_date_us)
    WHERE state <> 'fired' AND state <> 'done' AND state <> 'skipped' AND state <> 'forgotten'
        AND state <> 'queued' AND state <> 'reserved' AND state <> 'dead';

-- The same of one user. Root is shown all, and needs none of its own.
CREATE INDEX fires_open_by_owner ON fires (owner_id, wall_date_us)
    WHERE owner_id <> 0 AND state <> 'fired' AND state <> 'done' AND state <> 'skipped'
        AND state <> 'forgotten' AND state <> 'queued' AND state <> 'reserved' AND state <> 'dead';

-- One attempt to carry out a fire's command.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    fire_id INTEGER NOT NULL REFERENCES fires (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    -- 0 for the job's command, 1 for what is to be done when a fire has failed, 2 when it has succeeded.
    handler INTEGER NOT NULL DEFAULT 0,
    outcome TEXT CHECK (outcome IS NULL OR outcome = 'exited' OR outcome = 'signalled'
        OR outcome = 'notStarted' OR outcome = 'timedOut' OR outcome = 'interrupted'
        OR outcome = 'finished' OR outcome = 'failed' OR outcome = 'released' OR outcome = 'lost'),
    -- The exit status, or the number of the signal.
    code INTEGER,
    -- Why it could not be started; of an attempt at a task what its worker says it has failed with, or how it was
    -- lost. NULL as well where that had to make room.
    error TEXT,
    -- The node that was asked for it; NULL of a daemon that shares its jobs with no other, and of a task.
    node TEXT,
    -- The epoch of the runner that was asked for it: what that one does not know, it was never asked for. NULL in a copy, whose
    -- original may have gone on.
    runner INTEGER,
    pid INTEGER,
    started_at_us INTEGER,
    ended_at_us INTEGER,
    -- What it used, with the children it waited for.
    user_us INTEGER,
    system_us INTEGER,
    peak_memory_bytes INTEGER,
    -- How many processes of its group could not be ended with its end; NULL for none.
    survivors INTEGER,
    -- Whose failure it is: the job's owner, where it ended as one by the job's rules of that time; else NULL. A
    -- run with an error is a failure, but for one that was ended before it began.
    failed_owner_id INTEGER,
    -- 1 where somebody ends it, or a newer fire takes its place: it is not tried again; else NULL.
    stopped INTEGER,
    -- How many bytes it wrote to each stream, whatever is kept of them; NULL for none.
    stdout_bytes INTEGER,
    stderr_bytes INTEGER
) STRICT;

CREATE TRIGGER run_removed AFTER DELETE ON runs
    WHEN old.id > coalesce((SELECT max(id) FROM runs), 0)
BEGIN
    UPDATE daemon_state SET runs_through = max(runs_through, old.id);
END;

-- The handler, so that a job's own runs are counted without a look at each.
CREATE INDEX runs_by_job ON runs (job_id, id, handler);
CREATE INDEX runs_by_fire ON runs (fire_id);

-- What went wrong, by its end: found without a look at what went well, and one's own without a look at that of
-- others. A run that went well writes nothing of it.
CREATE INDEX runs_failed ON runs (ended_at_us, id) WHERE failed_owner_id IS NOT NULL;
CREATE INDEX runs_failed_by_owner ON runs (failed_owner_id, ended_at_us, id)
    WHERE failed_owner_id IS NOT NULL;

-- The oldest error of one user, whose bytes are more than a user may have. Like a reason of an event it counts where
-- it is no few words. Its bytes: the length of a text ends at a NUL, which a worker may say.
CREATE INDEX runs_with_error ON runs (failed_owner_id, id) WHERE length(CAST(error AS BLOB)) > 32;

-- A run without such an error writes nothing of the owner.
CREATE TRIGGER error_changed AFTER UPDATE OF error ON runs
    WHEN length(CAST(old.error AS BLOB)) > 32 OR length(CAST(new.error AS BLOB)) > 32
BEGIN
    UPDATE owners SET bytes = bytes - length(CAST(old.error AS BLOB))
    WHERE id = old.failed_owner_id AND length(CAST(old.error AS BLOB)) > 32;
    UPDATE owners SET bytes = bytes + length(CAST(new.error AS BLOB))
    WHERE id = new.failed_owner_id AND length(CAST(new.error AS BLOB)) > 32;
END;

CREATE TRIGGER error_removed AFTER DELETE ON runs WHEN length(CAST(old.error AS BLOB)) > 32 BEGIN
    UPDATE owners SET bytes = bytes - length(CAST(old.error AS BLOB)) WHERE id = old.failed_owner_id;
END;

-- What is kept of what a run wrote to both streams, in the order in which it came, in parts of 64 KiB at most; no
-- row where there was nothing.
CREATE TABLE run_output (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- From 0; of the oldest that had to make room, from a later one.
    part INTEGER NOT NULL,
    -- The job's owner, as in job_definitions.
    owner_id INTEGER NOT NULL,
    -- Up to where of each stream this part and those before it reach, and how many bytes of each are in it.
    stdout_end INTEGER NOT NULL,
    stderr_end INTEGER NOT NULL,
    stdout_kept INTEGER NOT NULL,
    stderr_kept INTEGER NOT NULL,
    -- Pieces, each a stream, a date, an offset, a count and so many bytes: see OutputPart. The last, so that the
    -- numbers before it are read without it.
    bytes BLOB NOT NULL,
    PRIMARY KEY (run_id, part)
) STRICT;

-- The oldest output of one user, whose bytes are more than a user may have.
CREATE INDEX run_output_by_owner ON run_output (owner_id, run_id, part);

CREATE TRIGGER output_added AFTER INSERT ON run_output BEGIN
    UPDATE owners SET bytes = bytes + length(new.bytes) WHERE id = new.owner_id;
END;

CREATE TRIGGER output_removed AFTER DELETE ON run_output BEGIN
    UPDATE owners SET bytes = bytes - length(old.bytes) WHERE id = old.owner_id;
END;

-- What watchers were told, by its number; whole, for it may be kept longer than what it is about. Its name
-- and userInfo, which may be much and mostly stay as they are, are not stored again with each event: they
-- are those of the job's revision, with the job while that is its revision, else in event_words.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    job_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    -- Who may be told: the job's owner, so that telling needs no look at the job.
    owner_id INTEGER,
    fire_id INTEGER,
    run_id INTEGER,
    redelivered INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    -- In wall time: the fire's date, or for events that are not about a fire the job's next one.
    fire_date_us INTEGER,
    -- NULL where it is at_us.
    fired_at_us INTEGER,
    missed INTEGER,
    dates INTEGER,
    last_date_us INTEGER,
    attempt INTEGER,
    outcome TEXT,
    -- The exit status, or the number of the signal.
    code INTEGER,
    -- Of a run: as in 'runs'.
    handler INTEGER NOT NULL DEFAULT 0,
    -- As in 'fires'.
    due_by_us INTEGER
) STRICT;

-- What one user is told of the past, without a look at what is told to others; and whose oldest make
-- room, of whom more are kept than may be.
CREATE INDEX events_by_owner ON events (owner_id, seq);

-- The oldest reason of one user that is no single word, but a text: the error of a run, or why a job is held.
CREATE INDEX events_with_text ON events (owner_id, seq) WHERE length(CAST(reason AS BLOB)) > 32;

-- An event without such a text writes nothing of the owner.
CREATE TRIGGER reason_added AFTER INSERT ON events WHEN length(CAST(new.reason AS BLOB)) > 32 BEGIN
    UPDATE owners SET bytes = bytes + length(CAST(new.reason AS BLOB)) WHERE id = new.owner_id;
END;

-- A reason makes room: no event gets another one.
CREATE TRIGGER reason_forgotten AFTER UPDATE OF reason ON events
    WHEN length(CAST(old.reason AS BLOB)) > 32 AND new.reason IS NULL
BEGIN
    UPDATE owners SET bytes = bytes - length(CAST(old.reason AS BLOB)) WHERE id = old.owner_id;
END;

CREATE TRIGGER reason_removed AFTER DELETE ON events WHEN length(CAST(old.reason AS BLOB)) > 32 BEGIN
    UPDATE owners SET bytes = bytes - length(CAST(old.reason AS BLOB)) WHERE id = old.owner_id;
END;

-- What watchers are to be told and were not, for all we know: stored with the change itself, up to 64 events of
-- one write in a row, and moved to events once they have numbers. What a crash leaves here is told again, with
-- the same words. A row counts as well what its write has changed in owners and daemon_state: these are
-- two pages that each write would have to write. Who removes it adds it there; until then the sum of both is true.
-- Reasons are counted with their events: see reason_added.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    -- How many of its events, from the first on, are in events.
    told INTEGER NOT NULL DEFAULT 0,
    -- Whose numbers it changes; NULL where it changes nobody's.
    owner_id INTEGER,
    live INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- The bytes of those reasons of its events that will count in owners, of events that are not in events yet.
    reasons INTEGER NOT NULL,
    scheduled INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    -- An array of arrays, each with the columns of events in the order that OutboxText states. The last, so
    -- that the numbers before it are read without it.
    events TEXT NOT NULL
) STRICT;

-- The name and userInfo that a job had and has no more: it was changed or removed, and events that told
-- them are kept.
CREATE TABLE event_words (
    job_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    -- The job's owner, as in job_definitions.
    owner_id INTEGER NOT NULL,
    -- No event with a higher number tells them; what is in the outbox may.
    through_seq INTEGER NOT NULL,
    name TEXT,
    user_info TEXT,
    PRIMARY KEY (job_id, revision)
) STRICT;

-- What one user's events need no more, once they are removed.
CREATE INDEX event_words_by_owner ON event_words (owner_id, through_seq);

-- By triggers, so that no write can leave it out.
CREATE TRIGGER words_changed AFTER UPDATE OF name, user_info ON job_definitions
    WHEN old.name IS NOT new.name OR old.user_info IS NOT new.user_info
BEGIN
    INSERT INTO event_words (job_id, revision, owner_id, through_seq, name, user_info)
        SELECT old.job_id, jobs.revision, old.owner_id,
            coalesce((SELECT max(seq) FROM events), 0), old.name, old.user_info
        FROM jobs
        WHERE jobs.id = old.job_id AND (old.name IS NOT NULL OR old.user_info IS NOT NULL);
    UPDATE jobs SET revision = revision + 1 WHERE id = old.job_id;
END;

-- Before the definition goes with its job: as long as an event that tells its words may be kept, or is still
-- to be told.
CREATE TRIGGER words_removed BEFORE DELETE ON jobs BEGIN
    INSERT INTO event_words (job_id, revision, owner_id, through_seq, name, user_info)
        SELECT old.id, old.revision, old.owner_id,
            coalesce(old.last_seq, (SELECT max(seq) FROM events), 0), name, user_info
        FROM job_definitions
        WHERE job_id = old.id AND (name IS NOT NULL OR user_info IS NOT NULL)
            AND (EXISTS (SELECT 1 FROM outbox) OR EXISTS (
                SELECT 1 FROM events
                WHERE owner_id = old.owner_id
                    AND seq > (SELECT events_pruned FROM owners WHERE id = old.owner_id)
                    AND seq <= coalesce(old.last_seq, seq)));
END;

CREATE TRIGGER event_words_added AFTER INSERT ON event_words BEGIN
    UPDATE owners SET bytes = bytes + 100 + coalesce(length(CAST(new.name AS BLOB)), 0)
        + coalesce(length(CAST(new.user_info AS BLOB)), 0)
    WHERE id = new.owner_id;
END;

-- Of words that were kept for an event that tells no userInfo.
CREATE TRIGGER event_words_completed AFTER UPDATE OF user_info ON event_words
    WHEN old.user_info IS NULL AND new.user_info IS NOT NULL
BEGIN
    UPDATE owners SET bytes = bytes + length(CAST(new.user_info AS BLOB)) WHERE id = new.owner_id;
END;

CREATE TRIGGER event_words_removed AFTER DELETE ON event_words BEGIN
    UPDATE owners SET bytes = bytes - 100 - coalesce(length(CAST(old.name AS BLOB)), 0)
        - coalesce(length(CAST(old.user_info AS BLOB)), 0)
    WHERE id = old.owner_id;
END;

-- What somebody is to be told and was not yet, of one job to one place: stored with what it tells of, and removed once
-- it was handed over. Its job stays until then.
CREATE TABLE notices (
    id INTEGER PRIMARY KEY,
    owner_id INTEGER NOT NULL,
    job_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    -- As the job or the configuration has it, with what is secret in it.
    place TEXT NOT NULL,
    -- By the wall clock.
    added_at_us INTEGER NOT NULL,
    -- In elapsed time: not tried before, and not tried again after.
    not_before_us INTEGER NOT NULL,
    until_us INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Why the last try failed.
    error TEXT,
    -- Of a summary: how many notices it stands for, and when the first and the last came, by the wall clock. 0 for
    -- a notice that tells of one thing.
    held INTEGER NOT NULL DEFAULT 0,
    held_from_us INTEGER,
    held_to_us INTEGER,
    -- How many notices of the owner were not stored beside it, because too many waited.
    dropped INTEGER NOT NULL DEFAULT 0,
    -- What has happened, as JSON: of a summary the last of it.
    document TEXT NOT NULL
) STRICT;

CREATE TRIGGER notice_removed AFTER DELETE ON notices
    WHEN old.id > coalesce((SELECT max(id) FROM notices), 0)
BEGIN
    UPDATE daemon_state SET notices_through = max(notices_through, old.id);
END;

CREATE TRIGGER notice_counted AFTER INSERT ON notices
BEGIN
    UPDATE daemon_state SET notices_waiting = notices_waiting + (new.held = 0),
        notices_held = notices_held + (new.held > 0);
END;

CREATE TRIGGER notice_begun AFTER UPDATE OF attempts ON notices
    WHEN old.held > 0 AND old.attempts = 0 AND new.attempts > 0
BEGIN
    UPDATE daemon_state SET notices_waiting = notices_waiting + 1, notices_held = notices_held - 1;
END;

CREATE TRIGGER notice_uncounted AFTER DELETE ON notices
BEGIN
    UPDATE daemon_state SET
        notices_waiting = notices_waiting - (old.held = 0 OR old.attempts > 0),
        notices_held = notices_held - (old.held > 0 AND old.attempts = 0);
END;

-- Those that wait, the oldest first, without what is held back.
CREATE INDEX notices_waiting ON notices (added_at_us) WHERE held = 0 OR attempts > 0;

-- One user's notices and, apart from them, pings; of each the next to be tried first.
CREATE INDEX notices_by_owner ON notices (owner_id, (reason = 'ping'), not_before_us);

-- The summary, or the ping, that a job has already.
CREATE INDEX notices_by_job ON notices (job_id, reason);

-- What a job's notices go by; no row for a job that nobody was told of.
CREATE TABLE notice_states (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    reason TEXT NOT NULL,
    -- In elapsed time: when it was told last, or when the summary of what is held back will be. NULL for never.
    told_at_us INTEGER,
    -- Of 'failed': whether the job's last fire failed.
    is_failing INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, reason)
) STRICT, WITHOUT ROWID;

-- Queues of one user, and what they hold. The counts are kept by triggers, so that no write can leave one out.
CREATE TABLE queues (
    owner_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,
    -- How many tasks may be reserved at a time; NULL for any number.
    max_reserved INTEGER,
    -- How many are handed out in a time; NULL for any number.
    rate_count INTEGER,
    rate_us INTEGER,
    -- In elapsed time: up to when what was handed out has used up the rate.
    rate_until_us INTEGER NOT NULL DEFAULT 0,
    ready INTEGER NOT NULL DEFAULT 0,
    delayed INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner_id, name)
) STRICT, WITHOUT ROWID;

-- Fires that are a worker's to carry out and are not over; one row for each.
CREATE TABLE tasks (
    fire_id INTEGER PRIMARY KEY REFERENCES fires (id) ON DELETE CASCADE,
    job_id INTEGER NOT NULL,
    owner_id INTEGER NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state = 'ready' OR state = 'delayed' OR state = 'reserved'
        OR state = 'dead'),
    -- In elapsed time: since when it is ready, or will be.
    ready_us INTEGER NOT NULL,
    -- In elapsed time: when something becomes of it by itself: the end of the lease, of the delay, of the time for which it
    -- waits or is kept. NULL for never.
    due_us INTEGER,
    -- The length of the lease.
    lease_us INTEGER NOT NULL DEFAULT 0,
    -- The run of its last attempt, which is the worker's token; NULL before the first.
    run_id INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0,
    -- How often it has failed, and was lost, since it was queued or retried.
    failures INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What is handed out next.
CREATE INDEX tasks_ready ON tasks (owner_id, queue, priority DESC, ready_us, fire_id)
    WHERE state = 'ready';

-- What no worker has of a queue: the delayed and dead ones, those first whose time comes first; and the one that has been ready
-- for longest, without a look at each priority.
CREATE INDEX tasks_by_age ON tasks (owner_id, queue, state, ready_us)
    WHERE state = 'ready' OR (state = 'delayed' OR state = 'dead');

-- What becomes due next, of all users.
CREATE INDEX tasks_due ON tasks (due_us) WHERE due_us IS NOT NULL;

-- The same of one user: whose turn it is while more is due than one write does.
CREATE INDEX tasks_due_by_owner ON tasks (owner_id, due_us) WHERE due_us IS NOT NULL;

-- One user's tasks in the order of a list, and those of a job. A task's life writes nothing of them.
CREATE INDEX tasks_by_owner ON tasks (owner_id, fire_id);
CREATE INDEX tasks_by_job ON tasks (job_id, fire_id);

-- Those of a job that are not over for its overlap, without a look at the dead ones; and those that workers have, whose
-- leases begin anew with the daemon.
CREATE INDEX tasks_live_by_job ON tasks (job_id, fire_id) WHERE state <> 'dead';

-- The first task of a queue makes it.
CREATE TRIGGER task_added AFTER INSERT ON tasks BEGIN
    INSERT INTO queues (owner_id, name, ready) VALUES (new.owner_id, new.queue, new.state = 'ready')
    ON CONFLICT (owner_id, name) DO UPDATE SET ready = ready + excluded.ready;
END;

CREATE TRIGGER task_changed AFTER UPDATE OF state ON tasks WHEN old.state <> new.state BEGIN
    UPDATE queues SET ready = ready + (new.state = 'ready') - (old.state = 'ready'),
        delayed = delayed + (new.state = 'delayed') - (old.state = 'delayed'),
        reserved = reserved + (new.state = 'reserved') - (old.state = 'reserved'),
        dead = dead + (new.state = 'dead') - (old.state = 'dead')
    WHERE owner_id = new.owner_id AND name = new.queue;
END;

CREATE TRIGGER task_removed AFTER DELETE ON tasks BEGIN
    UPDATE queues SET ready = ready - (old.state = 'ready'), delayed = delayed - (old.state = 'delayed'),
        reserved = reserved - (old.state = 'reserved'), dead = dead - (old.state = 'dead')
    WHERE owner_id = old.owner_id AND name = old.queue;
END;

-- The job of each key: the newest one that had it, for as long as it is kept.
CREATE TABLE job_keys (
    owner_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    job_id INTEGER NOT NULL,
    PRIMARY KEY (owner_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_keys_by_job ON job_keys (job_id);

CREATE TRIGGER job_removed_with_key AFTER DELETE ON jobs BEGIN
    DELETE FROM job_keys WHERE job_id = old.id;
END;
