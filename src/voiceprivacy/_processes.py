"""Several processes that train one attacker, as ``torchrun`` starts them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from voiceprivacy.errors import VoicePrivacyError


class Alone:
    """One process."""

    rank, world = 0, 1

    def __init__(self, device):
        self.device = device

    def shared(self, module):
        """A module whose gradients are averaged over all processes."""
        return module

    def mean(self, values):
        """Mean of a tensor over all processes."""
        return values

    def told(self, value):
        """What the first process says."""
        return value


class Together(Alone):
    """One of several processes; each has its part of every batch."""

    def __init__(self, device):
        import torch.distributed

        super().__init__(device)
        self._distributed = torch.distributed
        self.rank, self.world = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def shared(self, module):
        from torch.nn.parallel import DistributedDataParallel

        own = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(module, device_ids=own)

    def mean(self, values):
        self._distributed.all_reduce(values)
        return values / self.world

    def told(self, value):
        values = [value]
        self._distributed.broadcast_object_list(values, src=0, device=self.device)
        return values[0]


@contextmanager
def processes(device: str) -> Iterator[Alone]:
    """Join the other processes if ``torchrun`` has started any, and leave them at the end.

    Raises
    ------
    VoicePrivacyError
        If the device is not there.
    """
    import torch

    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield Alone(usable_device(device))
        return
    # A device without a number is every process's own.
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    own = usable_device(device)
    torch.distributed.init_process_group("nccl" if own.type == "cuda" else "gloo")
    try:
        yield Together(own)
    finally:
        torch.distributed.destroy_process_group()


def usable_device(name: str):
    """The torch device of a name, if it can be used here."""
    import torch

    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise VoicePrivacyError(
            f"device {name!r} cannot be used here ({reason}); expected cpu, or cuda on a machine "
            "with a GPU and a torch built for it."
        ) from error
    return device
