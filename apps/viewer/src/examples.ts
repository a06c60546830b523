export const EXAMPLES = [
  {
    file: 'temperature.af',
    title: 'Temperature of 2005',
    text: 'Monthly means near the surface, of the climate model MPI-ESM-LR',
    query: '',
  },
  {
    file: 'anomaly.af',
    title: 'Winter and summer',
    text: 'How much each month of 2005 differs from the mean of the year',
    query: '&projection=equal-earth',
  },
] as const
