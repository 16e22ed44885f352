#!/usr/bin/env bash
# What a launcher's two ranks measure of the transport between them:
#
#     mpirun -n 2 examples/mpi_perf.sh bw                      # on one machine
#     FRAMEWIRE_HOST=node1 srun -N 2 -n 2 examples/mpi_perf.sh bw --psk keys.txt
#
# Rank 0 serves, rank 1 measures; further ranks end at once. The arguments are those of
# `framewire perf`, without its address; where they say nothing of security, --insecure is added, on
# this machine alone. FRAMEWIRE names the program, FRAMEWIRE_HOST the machine of rank 0, and
# FRAMEWIRE_PORT the port (7400).
set -euo pipefail

rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-}}}
if [ -z "$rank" ]; then
  echo "mpi_perf: no rank in OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID; start it with mpirun or srun" >&2
  exit 2
fi
program=${FRAMEWIRE:-framewire}
host=${FRAMEWIRE_HOST:-127.0.0.1}
port=${FRAMEWIRE_PORT:-7400}
arguments=("${@:-bw}")
case " ${arguments[*]} " in
  *" --psk "* | *" --cert "* | *" --insecure "*) ;;
  *)
    if [ "$host" != 127.0.0.1 ]; then
      echo "mpi_perf: between machines say who may connect, with --psk FILE" >&2
      exit 2
    fi
    arguments+=(--insecure)
    ;;
esac

case "$rank" in
  0)
    # --from is the client's memory.
    served=()
    skip=
    for argument in "${arguments[@]}"; do
      if [ "$argument" = --from ]; then
        skip=1
      elif [ -n "$skip" ]; then
        skip=
      else
        served+=("$argument")
      fi
    done
    exec "$program" perf "${served[@]}" --server "$host:$port"
    ;;
  1)
    # --to is the server's. The server may not listen yet.
    measured=()
    skip=
    for argument in "${arguments[@]:1}"; do
      if [ "$argument" = --to ]; then
        skip=1
      elif [ -n "$skip" ]; then
        skip=
      else
        measured+=("$argument")
      fi
    done
    for _ in $(seq 50); do
      (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null && break
      sleep 0.2
    done
    exec "$program" perf "${arguments[0]}" "$host:$port" "${measured[@]}"
    ;;
esac
