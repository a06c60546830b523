// The example as it is, with a bucket that counts what is read, on the container that a header names.
import worker from '../examples/edge/worker.mjs'

export default {
  async fetch(request, { BUCKET, ...env }) {
    const log = { operations: [], bytes: 0 }
    const from = request.headers.get('x-container')
    const place = from?.startsWith('http') ? { CONTAINER_URL: from } : { BUCKET: counting(BUCKET, log), CONTAINER: from }
    const response = await worker.fetch(request, { ...env, ...place })
    const headers = new Headers(response.headers)
    headers.set('x-read', JSON.stringify(log))
    return new Response(response.body, { status: response.status, headers })
  },
}

/** Notes each operation and, of `get`, the bytes that came. */
function counting(bucket, log) {
  return {
    head: (key) => log.operations.push('head') && bucket.head(key),
    list: (options) => log.operations.push('list') && bucket.list(options),
    async get(key, options) {
      log.operations.push('get')
      const object = await bucket.get(key, options)
      if (object !== null && 'body' in object) log.bytes += object.range?.length ?? object.size
      return object
    },
  }
}
