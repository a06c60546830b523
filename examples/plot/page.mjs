// Draws a map of the first step, and the series at the cell that is clicked, with Observable Plot.
import * as Plot from '@observablehq/plot'
import { openDataset } from 'hyperslab/dataset'

const query = new URLSearchParams(location.search)
const ds = await openDataset(query.get('url') ?? 'tas.nc')
const variable = ds.get(query.get('variable') ?? 'tas').transpose(['time', 'lat', 'lon'])
const [lats, lons] = [await variable.coords.lat.values(), await variable.coords.lon.values()]

async function drawMap() {
  const data = await variable.isel({ time: 0 }).values()
  // A raster of Plot begins with the first latitude and longitude, in C order.
  const marks = [
    Plot.raster(data, {
      width: lons.length,
      height: lats.length,
      x1: lons[0],
      x2: lons.at(-1),
      y1: lats[0],
      y2: lats.at(-1),
    }),
  ]
  const color = { legend: true, scheme: 'Turbo', label: `${variable.attrs.units ?? ''}` }
  const plot = Plot.plot({ width: 900, height: 480, x: { label: 'lon' }, y: { label: 'lat' }, color, marks })
  document.querySelector('#map').replaceChildren(plot)
  return plot
}

let reading = new AbortController()

/** Draws the series at a point. The read of the point before is aborted. */
async function drawSeries(lat, lon) {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  const series = variable.sel({ lat, lon }, { method: 'nearest' })
  const [values, times] = [await series.values({ signal }), await series.coords.time.dates()]
  const points = Array.from(values, (value, i) => ({ time: times[i], value }))
  const title = `${lat.toFixed(1)}° N, ${lon.toFixed(1)}° E`
  const plot = Plot.plot({ title, width: 900, height: 240, marks: [Plot.lineY(points, { x: 'time', y: 'value', marker: true })] })
  document.querySelector('#series').replaceChildren(plot)
}

const map = await drawMap()
const svg = map.querySelector('svg[viewBox]:not([class*=ramp])') ?? map
svg.addEventListener('click', (event) => {
  const { left, top, width } = svg.getBoundingClientRect()
  const scale = 900 / width
  const lon = map.scale('x').invert((event.clientX - left) * scale)
  const lat = map.scale('y').invert((event.clientY - top) * scale)
  drawSeries(lat, lon)
})
await drawSeries(52.5, 13.4)
