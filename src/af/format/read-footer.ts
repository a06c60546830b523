import { checkFooter, decodeFooter, type Footer, type FooterReport, isVersion6 } from './footer.ts'

/**
 * The footer in a payload, checked, of whichever version it is.
 * @param dataBytes bytes in front of the payload
 * @param report takes numbers that contradict each other; throws them unless given
 * @throws FormatError, UnsupportedError
 */
export async function readFooter(
  payload: Uint8Array,
  dataBytes: number,
  typeDepth: number,
  report?: FooterReport,
): Promise<Footer> {
  if (isVersion6(payload)) return (await import('./footer-v6.ts')).readFooter6(payload, dataBytes, typeDepth, report)
  const footer = decodeFooter(payload, typeDepth)
  checkFooter(footer, dataBytes, report)
  return footer
}
