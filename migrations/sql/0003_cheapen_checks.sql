-- SQLite builds a table for each list of more than two words behind IN, at each statement that evaluates
-- it: of a fire's writes that was a third. The same conditions word by word build none.
--
-- What the tables hold stays what it is, so their text alone is changed, as
-- https://www.sqlite.org/lang_altertable.html has it (part 7, for constraints).
PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''scheduled'', ''paused'', ''finished'', ''invalidated''))',
    'CHECK (state = ''scheduled'' OR state = ''finished'' OR state = ''paused'' OR state = ''invalidated'')')
WHERE type = 'table' AND name = 'jobs';

UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
    'CHECK (state IN
        (''claimed'', ''fired'', ''waiting'', ''running'', ''done'', ''skipped'', ''forgotten''))',
    'CHECK (state = ''claimed'' OR state = ''fired'' OR state = ''running'' OR state = ''done''
        OR state = ''skipped'' OR state = ''waiting'' OR state = ''forgotten'')'),
    'CHECK (reason IN
        (''misfire'', ''coalesced'', ''misfireLimit'', ''misfireWindow'', ''overlap'', ''manual'', ''skip'', ''moved'',
         ''paused'', ''clockStepped'', ''invalidated''))',
    'CHECK (reason IS NULL OR reason = ''misfire'' OR reason = ''coalesced'' OR reason = ''misfireLimit''
        OR reason = ''misfireWindow'' OR reason = ''overlap'' OR reason = ''manual'' OR reason = ''skip''
        OR reason = ''moved'' OR reason = ''paused'' OR reason = ''clockStepped'' OR reason = ''invalidated'')'),
    'CHECK (waits_for IN (''run'', ''retry'', ''onFailure''))',
    'CHECK (waits_for IS NULL OR waits_for = ''run'' OR waits_for = ''retry'' OR waits_for = ''onFailure'')')
WHERE type = 'table' AND name = 'fires';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (outcome IN (''exited'', ''signalled'', ''notStarted'', ''timedOut'', ''interrupted''))',
    'CHECK (outcome IS NULL OR outcome = ''exited'' OR outcome = ''signalled'' OR outcome = ''notStarted''
        OR outcome = ''timedOut'' OR outcome = ''interrupted'')')
WHERE type = 'table' AND name = 'runs';

-- Reads the changed text again.
PRAGMA writable_schema = RESET;

-- What a crash may have left half done.
DROP INDEX fires_open;
CREATE INDEX fires_open ON fires (id) WHERE state = 'claimed' OR state = 'waiting' OR state = 'running';
