/** Packages of Python that tests of TIFF compare with, in one environment. */
export const RASTERIO = ['numpy==2.4.6', 'rasterio==1.4.4', 'tifffile==2026.3.3', 'imagecodecs==2026.3.6']

/** Files whose first image is refused, with words of the reason. */
export const REFUSED: Record<string, string> = {
  'fax2d.tif': 'ccitt-fax3',
  'goes.tif': 'jpeg',
  'hpredict-1c-12b.tiff': 'predictor 2',
  'made_jpeg_gray.tif': 'jpeg',
  'made_jpeg_ycbcr.tif': 'jpeg',
  'made_lerc.tif': 'lerc',
  'made_lerc_deflate_u8.tif': 'lerc',
  'made_lerc_zstd.tif': 'lerc',
  'made_lzma.tif': 'lzma',
  'made_webp_lossless.tif': 'webp',
  'sparse.tiff': 'webp',
  'tiled-jpeg-ycbcr.tif': 'jpeg',
}
