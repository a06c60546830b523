#!/usr/bin/env bash
# A server on loopback that tests may kill and start again.
#   queue-server.sh FOLDER COMMAND…
# Starts the command. Of its standard input it reads lines: "kill" ends the server as a power cut would, "start" starts it again; it answers
# each with "done". When its input ends it ends the server and removes the folder, so that nothing outlives whoever has started it.
set -uo pipefail
folder=$1
shift
server=
# The shell tells of each process that is killed.
exec 2>>"$folder/server.out"

# Postgres has children of its own, which hold its shared memory: all of a session of its own are ended together.
begin() {
  setsid "$@" >>"$folder/server.out" 2>&1 </dev/null &
  server=$!
}
end() {
  pkill -KILL -s "$server"
  wait "$server" 2>/dev/null
}
trap 'end; rm -rf "$folder"' EXIT
begin "$@"
while read -r line; do
  case $line in
    kill) end ;;
    start) begin "$@" ;;
  esac
  echo "done"
done
