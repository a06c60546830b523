import { checkFooter, decodeFooter, type Footer, type FooterReport, hasKnownVersion, isVersion6 } from './footer.ts'

/**
 * Reads and checks the footer in a payload, of any version.
 * @param dataBytes number of bytes in front of the payload
 * @param report called for numbers that contradict each other. Default: throws the error
 * @throws FormatError, UnsupportedError
 */
export async function readFooter(
  payload: Uint8Array,
  dataBytes: number,
  typeDepth: number,
  report?: FooterReport,
): Promise<Footer> {
  if (isVersion6(payload)) return (await import('./footer-v6.ts')).readFooter6(payload, dataBytes, typeDepth, report)
  if (!hasKnownVersion(payload)) (await import('./other-versions.ts')).refuseVersion(payload)
  const footer = decodeFooter(payload, typeDepth)
  checkFooter(footer, dataBytes, report)
  return footer
}
