#!/usr/bin/env bash
# Ceph on loopback, as a real S3 server: a monitor, a storage daemon in memory, a gateway.
#   ceph.sh MONITOR_PORT GATEWAY_PORT ACCESS_KEY SECRET_KEY
# Says "ready" once the gateway answers. When its standard input ends it ends the daemons and removes all they have written, so that
# nothing outlives whoever has started it.
set -euo pipefail
monitor=$1 gateway=$2 access=$3 secret=$4
folder=$(mktemp -d -t hyperslab-ceph-XXXXXX)
conf=$folder/ceph.conf
daemons=()

# The gateway first: it waits for a monitor that is gone.
cleanup() {
  for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
    kill "${daemons[i]}" 2>/dev/null || continue
    for _ in {1..30}; do kill -0 "${daemons[i]}" 2>/dev/null && sleep 0.1 || break; done
    kill -9 "${daemons[i]}" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap cleanup EXIT

daemon() {
  "$1" -c "$conf" "${@:2}" -f >"$folder/$1.out" 2>&1 </dev/null &
  daemons+=($!)
}

# Waits until a command succeeds, two minutes at most: machines are of any speed.
await() {
  for _ in {1..1200}; do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "no success within two minutes: $*" >&2
  tail -n 20 "$folder"/*.out >&2
  exit 1
}

mkdir "$folder"/{monitor,osd,gateway}
fsid=$(cat /proc/sys/kernel/random/uuid)
cat >"$conf" <<END
[global]
fsid = $fsid
mon host = [v1:127.0.0.1:$monitor]
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms bind msgr2 = false
public network = 127.0.0.0/8
osd objectstore = memstore
osd class update on start = false
# The most that tests may keep in memory; it is taken as they write.
memstore device bytes = 17179869184
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 0
run dir = $folder
admin socket = $folder/\$name.asok
log file = $folder/\$name.log
pid file = $folder/\$name.pid
[mon.a]
mon data = $folder/monitor
[osd.0]
osd data = $folder/osd
[client.gateway]
rgw data = $folder/gateway
rgw frontends = beast endpoint=127.0.0.1:$gateway tcp_nodelay=1
END

monmaptool --create --fsid "$fsid" --addv a "[v1:127.0.0.1:$monitor]" "$folder/monmap" >/dev/null
ceph-mon -c "$conf" -i a --mkfs --monmap "$folder/monmap"
daemon ceph-mon -i a
osd=$(cat /proc/sys/kernel/random/uuid)
await timeout 10 ceph -c "$conf" osd new "$osd" 0
ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid "$osd" 2>>"$folder/ceph-osd.out"
daemon ceph-osd -i 0
# A monitor that is just starting may refuse it, and then it ends.
osd_up() {
  kill -0 "${daemons[-1]}" || daemon ceph-osd -i 0
  timeout 10 ceph -c "$conf" osd stat | grep -q ' 1 up'
}
await osd_up
daemon radosgw -n client.gateway
await curl -s "http://127.0.0.1:$gateway/"
radosgw-admin -c "$conf" user create --uid=test --display-name=test --access-key="$access" --secret-key="$secret" \
  >"$folder/admin.out" 2>&1
echo ready
cat >/dev/null
