"""Answers requests, each a line of JSON: the coordinates of degrees in a projection, by PROJ."""
import json
import sys

from rasterio.warp import transform

for line in sys.stdin:
    request = json.loads(line)
    lon, lat = zip(*request["points"])
    base = "+proj=longlat +R=6371229" if "R=6371229" in request["proj"] else "+proj=longlat +ellps=WGS84"
    if "R=6371000" in request["proj"]:
        base = "+proj=longlat +R=6371000"
    if "GRS80" in request["proj"]:
        base = "+proj=longlat +ellps=GRS80"
    x, y = transform(base, request["proj"], lon, lat)
    print(json.dumps(list(zip(x, y))), flush=True)
