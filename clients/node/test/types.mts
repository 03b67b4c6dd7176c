import { Client, LeaseLostError, Release, Worker } from 'timerd'

const client = new Client({ socketPath: '/tmp/none' })
export async function used(signal: AbortSignal): Promise<string> {
  const job = await client.add({ schedule: { in: '10m' }, queue: 'mails', userInfo: { to: 'ann' } }, { signal })
  const jobs = await client.add([{ schedule: { at: new Date() } }])
  for await (const one of client.list({ tag: 'net' })) one.state.toUpperCase()
  for await (const event of client.watch({ cursor: '/tmp/cursor', signal })) event.type.length
  const [task] = await client.reserve('mails', { wait: '1min' })
  try { await client.finish(task) } catch (error) { if (error instanceof LeaseLostError) return error.reason }
  if (job.notes?.length) await client[Symbol.asyncDispose]()
  return (await client.fail([task], { reason: 'no' }))[0].error?.reason ?? String(job.id) + jobs.length
}
export const worker = new Worker({ handlers: { mails: async () => { throw new Release('10s') } } }).on('done', (task) => task.fire)
