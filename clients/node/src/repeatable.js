// SPDX-License-Identifier: Apache-2.0
//
// Which requests may be sent again when their answer was lost.

const reads = new Set([
  'daemon.check', 'daemon.metrics', 'daemon.status', 'job.calendar', 'job.dates', 'job.get', 'job.list', 'node.list', 'notice.list',
  'queue.list', 'run.calendar', 'run.get', 'run.list', 'run.output', 'schedule.preview', 'task.list', 'upload.list',
])

/** Whether twice does no more than once: reads; what sets a state; what a token or a key guards. */
export function isRepeatable(method, params) {
  if (reads.has(method)) return true
  switch (method) {
    case 'queue.set':
    case 'node.drain':
    case 'task.extend':
    case 'task.finish':
    case 'task.fail':
    case 'task.release':
      return true
    case 'job.add': {
      const jobs = params?.jobs ?? [params]
      // With the connection a job with `whileConnected` has ended: the second request would be answered with that one.
      return Array.isArray(jobs) && jobs.length > 0 && !params?.replace
        && jobs.every((job) => typeof job?.key === 'string' && isKept(job.keyKept) && !job.whileConnected)
    }
    case 'job.invalidate':
    case 'job.pause':
    case 'job.resume':
      // A name may be another job's by the second time.
      return params?.id !== undefined || params?.ids !== undefined
    default:
      return false
  }
}

const units = { s: 1, sec: 1, m: 60, min: 60, h: 3600, hr: 3600, d: 86_400, day: 86_400, days: 86_400 }

/** A key that is kept for less than a minute, or for what is not read here, may be forgotten by the time of the second request. */
function isKept(kept) {
  if (kept === undefined) return true
  const part = /^ *([0-9]+) *([a-z]+) *$/.exec(kept)
  return part !== null && Number(part[1]) * (units[part[2]] ?? 0) >= 60
}
