#!/bin/bash
#SBATCH --job-name=narrows
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
#
# A sweep on a Slurm allocation: sbatch slurm.sh SWEEP.toml DIR
#
# One task per node is a Dask worker; the scheduler and `narrows sweep` run on the first node. Two minutes before the time
# limit Slurm sends SIGTERM: the sweep keeps what has finished, and the same sbatch command continues from there.
set -euo pipefail
sweep=$1 results=$2

# The scheduler's address, in the directory that all nodes share.
contact=$PWD/.narrows-dask-${SLURM_JOB_ID:?run it by sbatch}.json
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -f "$contact"' EXIT

dask scheduler --port 0 --no-dashboard --scheduler-file "$contact" &
pids+=($!)
until [ -s "$contact" ]; do
    kill -0 "${pids[0]}" # ends the job if the scheduler did
    sleep 1
done
srun --kill-on-bad-exit=0 dask worker --scheduler-file "$contact" --nthreads "${SLURM_CPUS_PER_TASK:-1}" --no-dashboard \
    --local-directory "${TMPDIR:-/tmp}" &
pids+=($!)

address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$contact")
narrows sweep "$sweep" -o "$results" --dask "$address" --no-progress &
running=$!
trap 'kill -TERM "$running"' TERM
code=0
wait "$running" || code=$?
# A signal interrupts the first wait; the second one has the exit code of the sweep.
if kill -0 "$running" 2>/dev/null; then code=0; wait "$running" || code=$?; fi
exit "$code"
