// A Worker that relies on what the package inlines.
import { describe } from '../check.mjs'
import { runEverywhere } from './places.mjs'

export default {
  async fetch() {
    return Response.json(
      await runEverywhere({ pools: [{ name: 'a pool', options: {}, workers: false }] }).catch((error) => [
        { name: 'the suite', error: describe(error) },
      ]),
    )
  },
}
