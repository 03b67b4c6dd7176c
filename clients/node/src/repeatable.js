// SPDX-License-Identifier: Apache-2.0
//
// Which requests may be sent again when their answer was lost.

const reads = new Set([
  'daemon.check', 'daemon.metrics', 'daemon.status', 'job.calendar', 'job.dates', 'job.get', 'job.list', 'node.list', 'notice.list',
  'queue.list', 'run.calendar', 'run.get', 'run.list', 'run.output', 'schedule.preview', 'task.list', 'upload.list',
])

/** For how many ms since it was first sent twice does no more than once: for ever reads, what sets a state, what a token guards; 0 for not at all. */
export function repeatableFor(method, params) {
  if (reads.has(method)) return Infinity
  switch (method) {
    case 'queue.set':
    case 'node.drain':
    case 'task.extend':
    case 'task.finish':
    case 'task.fail':
    case 'task.release':
      return Infinity
    case 'job.apply':
      return params?.dryRun === true ? Infinity : 0
    case 'job.add': {
      if (params?.dryRun === true) return Infinity // it changes nothing
      const jobs = params?.jobs ?? [params]
      if (!Array.isArray(jobs) || jobs.length === 0 || params?.replace) return 0
      return jobs.reduce((least, job) => Math.min(least, keyGuardsFor(job)), Infinity)
    }
    case 'job.invalidate':
    case 'job.pause':
    case 'job.resume':
      // A name may be another job's by the second time.
      return params?.id !== undefined || params?.ids !== undefined ? Infinity : 0
    default:
      return 0
  }
}

const units = { s: 1, sec: 1, m: 60, min: 60, h: 3600, hr: 3600, d: 86_400, day: 86_400, days: 86_400 }

// So long before its key may be forgotten a job is added for the last time: the request may lie in the daemon for a while.
const margin = 30

/** For how many ms since it was first sent a job's key is there in any case: the job may have ended at once. Of a time that is not read here, none. */
function keyGuardsFor(job) {
  // With the connection a job with `whileConnected` has ended: the second request would be answered with that one.
  if (typeof job?.key !== 'string' || job.whileConnected) return 0
  const part = /^ *([0-9]+) *([a-z]+) *$/.exec(job.keyKept ?? '1d')
  return part === null ? 0 : (Number(part[1]) * (units[part[2]] ?? 0) - margin) * 1000
}
