// Draws `a - b` on a map, as MapLibre and a layer for Zarr draw any Zarr store: there is neither a copy of the difference nor a server that
// makes tiles. The layer asks the store for a chunk; the store subtracts the elements of that chunk, and nothing else is read.
import 'maplibre-gl/dist/maplibre-gl.css'
import { ZarrLayer } from '@carbonplan/zarr-layer'
import { HttpStore } from 'hyperslab'
import { between, openDataset } from 'hyperslab/dataset'
import { asZarrStore } from 'hyperslab/zarr'
import { Map as WebMap } from 'maplibre-gl'

/** Blue for less, red for more, white for no difference. */
const COLOURS = ['#2166ac', '#67a9cf', '#d1e5f0', '#f7f7f7', '#fddbc7', '#ef8a62', '#b2182b']
/** The map begins with the coarsest level; each is half as fine as the one before. */
const LEVELS = 3

const $ = (id) => document.getElementById(id)
const wanted = new URLSearchParams(location.search)
const requests = { count: 0, bytes: 0 }
/** The number of chunks that the map has asked for, by level. */
const asked = Array.from({ length: LEVELS }, () => 0)

/** Opens what lies at the URL that a parameter of the page gives, and counts what is read of it. */
function open(parameter) {
  const { origin, pathname } = new URL(wanted.get(parameter), location.href)
  const onRequest = ({ bytes, attempts }) => {
    requests.count += attempts
    requests.bytes += bytes
    showCost()
  }
  return openDataset({ store: new HttpStore({ onRequest }), path: origin + pathname })
}

/**
 * The array with longitudes from -180 to below 180, whatever they are: the layer draws none beyond 180. Those
 * from 0 to 360 become two parts, of which the western one comes first.
 */
const fromDateLine = (array) => array.sel({ [array.dims.at(-1)]: between(-180, 180 - 1e-6) })

/** A store that counts the chunks of the variable that are asked for. */
const counting = (store, variable) => ({
  ...store,
  get(key, options) {
    const [, level] = key.match(`^/(\\d+)/${variable}/c/`) ?? []
    if (level !== undefined) asked[level]++
    showCost()
    return store.get(key, options)
  },
})

function showCost() {
  const levels = asked.map((count, level) => `${count} of level ${level}`).join(', ')
  $('cost').value = `Chunks drawn: ${levels}. Read: ${requests.count} requests, ${requests.bytes} bytes.`
}

async function draw() {
  const name = wanted.get('variable') ?? 'tas'
  const limit = Number(wanted.get('limit') ?? 5)
  const [a, b] = (await Promise.all([open('a'), open('b')])).map((dataset) => fromDateLine(dataset.get(name)))
  const [lat, lon] = a.dims.slice(-2)
  const anomaly = a.sub(b)
  const arrays = { anomaly: anomaly.array, [lat]: a.coords[lat].array, [lon]: a.coords[lon].array }
  const store = counting(asZarrStore(arrays, { levels: LEVELS }), 'anomaly')

  const map = new WebMap({
    container: 'map',
    // Nothing of it is fetched: a background, and what is computed here.
    style: {
      version: 8,
      sources: {},
      layers: [{ id: 'background', type: 'background', paint: { 'background-color': '#bbbbbb' } }],
    },
    center: [Number(wanted.get('lon') ?? 0), Number(wanted.get('lat') ?? 0)],
    zoom: Number(wanted.get('zoom') ?? 1),
    attributionControl: false,
  })
  map.on('error', ({ error }) => fail(error))
  await map.once('load')
  const at = (time) => ({ [a.dims[0]]: { selected: time, type: 'index' } })
  const layer = new ZarrLayer({
    id: 'anomaly',
    store,
    variable: 'anomaly',
    zarrVersion: 3,
    spatialDimensions: { lat, lon },
    crs: 'EPSG:4326',
    colormap: COLOURS,
    clim: [-limit, limit],
    selector: a.dims.length > 2 ? at(0) : {},
    onLoadingStateChange({ loading, error }) {
      map.getContainer().ariaBusy = loading
      if (error) fail(error)
    },
  })
  map.addLayer(layer)

  const units = a.attrs.units ?? ''
  $('title').textContent = `${name}: difference in ${units}`
  $('ramp').style.background = `linear-gradient(to right, ${COLOURS.join()})`
  $('limits').replaceChildren(
    ...[-limit, 0, limit].map((value) => Object.assign(document.createElement('span'), { textContent: value })),
  )
  if (a.dims.length > 2) await addSlider(a, (time) => layer.setSelector(at(time)))
}

async function addSlider(array, select) {
  const [dim] = array.dims
  const labels = await array.coords[dim]?.dates?.().catch(() => undefined)
  const [input, output] = $('when').children
  const show = () => {
    output.value = labels?.[input.value]?.toISOString?.().slice(0, 10) ?? `${dim} ${input.value}`
  }
  input.max = array.shape[0] - 1
  input.oninput = () => {
    show()
    select(Number(input.value))
  }
  show()
  $('when').hidden = false
}

const fail = (error) => {
  $('error').value = error.message
}
draw().catch(fail)
