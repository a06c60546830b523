// One of several writers, each in a worker: opens the container it is told of, says so, and writes its
// element when it is told to.
import { isHyperslabError, OpfsStore, open } from 'hyperslab'

const steps = {
  async open({ path }) {
    self.file = await open({ store: new OpfsStore(), path })
  },
  async write({ index }) {
    await self.file.array('x').set([index], index + 1)
    for (let conflicts = 0; ; conflicts++) {
      const error = await self.file.flush().catch((reason) => reason)
      if (error === undefined) return conflicts
      if (!isHyperslabError(error, 'ConflictError')) throw error
      await self.file.refresh()
    }
  },
  /** Leaves a stage behind when it is ended. */
  async stage({ path }) {
    const stage = await new OpfsStore().stage(path)
    await stage.append(new Uint8Array(1000))
  },
}

self.onmessage = ({ data }) =>
  steps[data.step](data).then(
    (result) => postMessage({ result }),
    (error) => postMessage({ error: String(error) }),
  )
