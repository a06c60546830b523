import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import starlightLinksValidator from 'starlight-links-validator'
import starlightLlmsTxt from 'starlight-llms-txt'

/** Import names of the package. */
const NAMES = [
  'hyperslab',
  'hyperslab/store',
  'hyperslab/plan',
  'hyperslab/geotiff',
  'hyperslab/hdf5',
  'hyperslab/netcdf',
  'hyperslab/zarr',
  'hyperslab/dataset',
  'hyperslab/cluster',
  'hyperslab/tree',
  'hyperslab/testing',
]

const pages = (label, ...slugs) => ({ label, items: slugs })

export default defineConfig({
  // Set by the publisher; without it, build.mjs removes the address again.
  site: process.env.SITE ?? 'http://localhost:4321',
  integrations: [
    starlight({
      title: 'hyperslab',
      head: [{ tag: 'script', attrs: { type: 'module', src: '/cells.js' } }],
      customCss: ['./src/site.css'],
      favicon: '/january.png',
      description: 'Chunked n-dimensional arrays for JavaScript',
      plugins: [starlightLinksValidator(), starlightLlmsTxt({ projectName: 'hyperslab' })],
      sidebar: [
        pages(
          'Guide',
          'guide',
          'questions',
          'command',
          'viewer',
          'places',
          'formats',
          'hdf5',
          'geotiff',
          'many-machines',
          'runtimes',
          'python',
        ),
        pages('Concepts', 'concepts', 'arrays', 'datasets', 'grids', 'containers', 'writing', 'chunking'),
        pages('Coming from', 'xarray', 'zarrita', 'diskarrays', 'array-format'),
        {
          label: 'Reference',
          items: [
            'api',
            { label: 'API', items: NAMES.map((name) => ({ label: name, slug: `api/${name}` })) },
            'errors',
            'promises',
            'numerics',
            'commit-protocol',
            'speed',
            'security',
            'changelog',
            'contributing',
          ],
        },
      ],
    }),
  ],
})
