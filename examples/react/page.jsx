import { openDataset } from 'hyperslab/dataset'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { useRead } from './use-read.mjs'

const query = new URLSearchParams(location.search)
const url = query.get('url') ?? 'steps.zarr'
const name = query.get('variable') ?? 'tas'

function Mean({ variable }) {
  const [step, setStep] = useState(0)
  const { value, error, progress } = useRead(
    async (options) => {
      const values = await variable.isel({ time: step }).values(options)
      return values.reduce((sum, each) => sum + each, 0) / values.length
    },
    [variable, step],
  )
  return (
    <main>
      <label>
        Step{' '}
        <input
          type="range"
          max={variable.dims.indexOf('time') < 0 ? 0 : variable.shape[0] - 1}
          value={step}
          onChange={(event) => setStep(Number(event.target.value))}
        />
      </label>
      <p id="mean">
        {error ? error.message : value === undefined ? `${Math.round(100 * progress)} %` : `step ${step}: ${value.toFixed(2)}`}
      </p>
    </main>
  )
}

function Page() {
  const { value, error } = useRead(({ signal }) => openDataset(url, { signal }), [])
  if (error) return <p id="mean">{error.message}</p>
  return value ? <Mean variable={value.get(name)} /> : <p>Opening {url} …</p>
}

createRoot(document.querySelector('#page')).render(<Page />)
