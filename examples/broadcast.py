#!/usr/bin/env python3
"""broadcast.py FOLDER: training batches shared by ranks, with torch.distributed.

    torchrun --nproc-per-node 2 examples/broadcast.py photos/
    mpirun -n 2 python3 examples/broadcast.py photos/
    srun -n 2 python3 examples/broadcast.py photos/

Twice the same 64 images for everybody: rank 0 decodes them all and broadcasts the batch; then each rank
decodes its share, and all gather it. NCCL on GPUs, where the package was built with CUDA and every rank
has a GPU of its own; otherwise gloo, on CPUs. Each rank says how long both take. torchrun tells the ranks
where to meet; for mpirun and srun on several machines set MASTER_ADDR to the name of rank 0's.
"""

import os
import pathlib
import sys
import time

import framewire
import torch
import torch.distributed as dist

IMAGES, SIDE, SEED = 64, 224, 42
# What launchers call a rank, how many there are, and which one it is of its machine.
LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),  # Open MPI
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),  # MPICH, Intel MPI
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)


def place():
    """(rank, number of ranks, rank within the machine); alone where nothing has started us."""
    for rank, world, local in LAUNCHERS:
        if rank in os.environ and world in os.environ:
            ours = int(os.environ[rank])
            return ours, int(os.environ[world]), int(os.environ.get(local, ours))
    return 0, 1, 0


def has_gpu(local):
    """Whether this rank has a GPU of its own that both torch and the package can use."""
    if not torch.cuda.is_available() or local >= torch.cuda.device_count() or not dist.is_nccl_available():
        return False
    try:
        framewire.TensorDecoder(device=local).close()
    except framewire.Unsupported as error:
        print(f"on the CPU: {error}", file=sys.stderr)
        return False
    return True


def join(rank, world, local):
    """(device, group of all ranks) of this rank. All must use one backend: NCCL only if each has a GPU."""
    if "MASTER_ADDR" not in os.environ and rank != local:
        sys.exit("MASTER_ADDR is not set; accepted on several machines: the name of rank 0's")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29541")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpus = torch.tensor([int(has_gpu(local))])
    dist.all_reduce(gpus)
    if gpus.item() < world:
        return torch.device("cpu"), dist.group.WORLD
    torch.cuda.set_device(local)
    return torch.device("cuda", local), dist.new_group(backend="nccl")


def decode(decoder, jpegs, ids, out):
    """Makes a batch in `out`, in memory that torch owns. It is there when this returns."""
    files = [jpegs[i] for i in ids]
    sizes = framewire.sizes(files, on_error="return")
    crops = framewire.random_resized_crops(sizes, SEED, 0, ids)
    return decoder.decode(files, crops, framewire.random_flips(SEED, 0, ids), out=out)


def timed(work, device):
    """The shortest of ten times, in milliseconds; collectives are through before the clock stops."""
    times = []
    for _ in range(10):
        dist.barrier()
        began = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1e3)
    return min(times)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    paths = sorted(pathlib.Path(sys.argv[1]).rglob("*.jp*g"))
    if not paths:
        sys.exit(f"{sys.argv[1]}: no JPEGs")
    jpegs = [paths[i % len(paths)].read_bytes() for i in range(IMAGES)]
    rank, world, local = place()
    device, group = join(rank, world, local)
    decoder = framewire.TensorDecoder((SIDE, SIDE), device=device, dtype="float16")
    batch = torch.zeros((IMAGES, 3, SIDE, SIDE), dtype=torch.float16, device=device)

    def broadcast_one():
        if rank == 0:
            decode(decoder, jpegs, range(IMAGES), batch)
        dist.broadcast(batch, src=0, group=group)

    # All parts are of one size, as collectives want them; the last ones may begin again at image 0.
    share = -(-IMAGES // world)
    mine = [i % IMAGES for i in range(rank * share, (rank + 1) * share)]
    part = torch.zeros((share, 3, SIDE, SIDE), dtype=torch.float16, device=device)
    gathered = torch.zeros((share * world, 3, SIDE, SIDE), dtype=torch.float16, device=device)

    def gather_all():
        decode(decoder, jpegs, mine, part)
        dist.all_gather_into_tensor(gathered, part, group=group)

    for error in filter(None, decode(decoder, jpegs, mine, part).errors):
        print(f"{paths[mine[error.index] % len(paths)]}: {error}", file=sys.stderr)
    broadcast_ms, gather_ms = timed(broadcast_one, device), timed(gather_all, device)
    # Crops depend on the image's number alone, so both ways make the same batch on every rank.
    same = torch.equal(batch, gathered[:IMAGES]) and bool(batch.any())
    print(f"rank {rank} of {world}, {device}, {dist.get_backend(group)}: {IMAGES} images decoded by one and broadcast in "
          f"{broadcast_ms:.1f} ms, by all and gathered in {gather_ms:.1f} ms; "
          f"{'equal' if same else 'DIFFERENT'}", flush=True)
    dist.destroy_process_group()
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
