// Draws one step of a variable as a bitmap layer of deck.gl, on the sphere that the pointer turns. A slider
// selects the step.
import { Deck, _GlobeView as GlobeView } from '@deck.gl/core'
import { BitmapLayer } from '@deck.gl/layers'
import { between, openDataset } from 'hyperslab/dataset'

const $ = (selector) => document.querySelector(selector)
const query = new URLSearchParams(location.search)

/** Ends of the colours, and their RGB bytes. */
const [LOW, HIGH] = (query.get('range') ?? '220,310').split(',').map(Number)
const COLOURS = [
  [49, 54, 149],
  [116, 173, 209],
  [255, 255, 191],
  [244, 109, 67],
  [165, 0, 38],
]

const ds = await openDataset(query.get('url') ?? 'tas.nc')
// Columns of a bitmap run from west to east, so longitudes from 0 to 360 become those from -180 to 180.
const variable = ds
  .get(query.get('variable') ?? 'tas')
  .sel({ lon: between(-180, 179.999) })
  .transpose(['time', 'lat', 'lon'])
const [, height, width] = variable.shape
const [lats, lons, times] = await Promise.all([
  variable.coords.lat.values(),
  variable.coords.lon.values(),
  variable.coords.time.dates(),
])
const isNorthFirst = lats[0] > lats[height - 1]

/** Converts values to a picture with north in the first row. Missing values are transparent. */
function toImage(values) {
  const image = new ImageData(width, height)
  for (let row = 0; row < height; row++) {
    const from = (isNorthFirst ? row : height - 1 - row) * width
    for (let column = 0; column < width; column++) {
      const value = values[from + column]
      if (!Number.isNaN(value)) image.data.set([...colour(value), 255], 4 * (row * width + column))
    }
  }
  return image
}

/** Returns the colour of a value, between the two nearest colours. */
function colour(value) {
  const at = Math.min(1, Math.max(0, (value - LOW) / (HIGH - LOW))) * (COLOURS.length - 1)
  const below = Math.min(COLOURS.length - 2, Math.floor(at))
  return COLOURS[below].map((channel, i) => channel + (at - below) * (COLOURS[below + 1][i] - channel))
}

/** Edges of the picture: half a cell beyond the centres of its outer cells. */
const west = lons[0] - (lons[1] - lons[0]) / 2
const [south, north] = isNorthFirst ? [lats[height - 1], lats[0]] : [lats[0], lats[height - 1]]
const edge = Math.abs(lats[1] - lats[0]) / 2
const bounds = [west, Math.max(-90, south - edge), west + 360, Math.min(90, north + edge)]

const deck = new Deck({
  parent: $('#globe'),
  views: new GlobeView(),
  initialViewState: { longitude: 10, latitude: 20, zoom: 1.5 },
  controller: true,
})

let reading = new AbortController()

/** Draws a step. The read of the step before is aborted. */
async function draw(step) {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  try {
    const image = toImage(await variable.isel({ time: step }).values({ signal }))
    deck.setProps({ layers: [new BitmapLayer({ id: 'field', bounds, image })] })
    $('output').value = times[step].toISOString().slice(0, 10)
  } catch (error) {
    if (!signal.aborted) $('output').value = error.message
  }
}

const slider = $('input')
slider.max = times.length - 1
slider.addEventListener('input', () => draw(Number(slider.value)))
await draw(0)
