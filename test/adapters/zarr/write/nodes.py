"""Says what zarr-python finds in groups: python3 nodes.py [FOLDER true|false]..., where the second tells whether to use consolidated metadata."""

import json
import sys
import warnings

import zarr

warnings.simplefilter("error")


def found_in(folder, consolidated):
    group = zarr.open_group(folder, mode="r", use_consolidated=consolidated)
    members = {}
    for path, node in sorted(group.members(max_depth=None)):
        members[path] = {"attributes": dict(node.attrs)}
        if isinstance(node, zarr.Array):
            members[path] |= {"shape": list(node.shape), "sum": float(node[...].sum())}
    return {"attributes": dict(group.attrs), "members": members}


places = zip(sys.argv[1::2], sys.argv[2::2])
print(json.dumps([found_in(folder, consolidated == "true") for folder, consolidated in places]))
