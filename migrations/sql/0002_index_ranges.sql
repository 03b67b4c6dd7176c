-- The ranges of dates that never will be a fire, and may hold a date that is looked for: found without
-- a look at the fires in between.
CREATE INDEX fires_ranges ON fires (job_id, fire_date_us) WHERE last_date_us IS NOT NULL;
