-- The ranges of dates that never will be a fire, and may hold a date that is looked for: found without
-- a look at the fires in between.
CREATE INDEX fires_ranges ON fires (job_id, fire_date_us) WHERE last_date_us IS NOT NULL;

-- The live jobs that have no next fire, which come last in a list, without a look at those that have
-- ended. A fire writes nothing of it.
CREATE INDEX jobs_idle ON jobs (id)
    WHERE state = 'paused' OR (state = 'scheduled' AND due_us IS NULL);
