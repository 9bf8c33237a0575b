#!/bin/sh
# pin.sh CPUS COMMAND...: runs the command on one CPU of the list (0,1), chosen by the local rank; every runtime is
# pinned by this, not by its launcher. A job is on one host here, so that the rank serves where there is no local rank.
cpus=$1
shift
rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${PMIX_RANK:-${PMI_RANK:?pin.sh: the launcher says no rank}}}}
count=$(echo "$cpus" | tr , '\n' | wc -l)
exec taskset -c "$(echo "$cpus" | cut -d, -f$((rank % count + 1)))" "$@"
