import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import starlightLinksValidator from 'starlight-links-validator'
import starlightLlmsTxt from 'starlight-llms-txt'

const pages = (label, ...slugs) => ({ label, items: slugs })

export default defineConfig({
  // Whoever publishes it says where: llms.txt has whole addresses.
  site: process.env.SITE ?? 'http://localhost:4321',
  integrations: [
    starlight({
      title: 'hyperslab',
      head: [{ tag: 'script', attrs: { type: 'module', src: '/cells.js' } }],
      customCss: ['./src/site.css'],
      favicon: '/january.png',
      description: 'Chunked n-dimensional arrays for JavaScript',
      plugins: [starlightLinksValidator({ exclude: ['/api/**'] }), starlightLlmsTxt({ projectName: 'hyperslab' })],
      sidebar: [
        pages('Guide', 'guide', 'tasks', 'command', 'viewer', 'places', 'formats', 'many-machines', 'runtimes', 'python'),
        pages('Concepts', 'concepts', 'arrays', 'datasets', 'grids', 'containers', 'writing', 'chunking'),
        pages('Coming from', 'xarray', 'zarrita', 'diskarrays'),
        {
          label: 'Reference',
          items: [
            { label: 'API', link: '/api/', attrs: { target: '_blank' } },
            'errors',
            'promises',
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
