// Packs the coastlines of Natural Earth (public domain), which the package world-atlas contains as a
// topology.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const END = -32768
/** Whether a point lies on the edge of the map. Polygons are closed there, which is no coast. */
const isEdge = ([x, y]) => Math.abs(x) > 179.99 || y < -89.9

/** @returns longitudes and latitudes in hundredths of a degree, 16 bits each, with -32768 after each line */
export function packCoastlines() {
  const file = createRequire(import.meta.url).resolve('world-atlas/land-110m.json')
  const { arcs, transform } = JSON.parse(readFileSync(file, 'utf8'))
  const packed = []
  for (const arc of arcs) {
    let [x, y] = [0, 0]
    let length = 0
    const end = () => {
      if (length > 0) packed.push(END)
      length = 0
    }
    for (const [dx, dy] of arc) {
      x += dx
      y += dy
      const place = [x * transform.scale[0] + transform.translate[0], y * transform.scale[1] + transform.translate[1]]
      if (isEdge(place)) end()
      else {
        packed.push(...place.map((degrees) => Math.round(degrees * 100)))
        length++
      }
    }
    end()
  }
  return Buffer.from(Int16Array.from(packed).buffer)
}
