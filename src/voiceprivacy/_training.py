"""The training loop: steps, evaluations, checkpoints, and when to stop."""

import itertools
import math
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from voiceprivacy._checkpoints import BEST, LAST, LOG, LOG_COLUMNS, read_state, write_state
from voiceprivacy._network import Network
from voiceprivacy._processes import Alone
from voiceprivacy._sampling import batches, fixed_crops
from voiceprivacy._schedules import learning_rate
from voiceprivacy._training_data import Material
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole
from voiceprivacy.randomness import stream


class Training:
    """One attacker's training, from where its folder says it stands.

    Parameters
    ----------
    material
        What to train on, and how.
    folder
        Where checkpoints and the log are kept.
    group
        This process, or the processes that share the work.
    workers
        Processes that read and augment speech; 0: this one does.
    """

    def __init__(
        self,
        material: Material,
        folder: Path,
        group: Alone,
        workers: int,
    ):
        import torch

        self.torch, self.folder, self.group, self.workers = torch, folder, group, workers
        self.speech, self.rows, self.settings = material.speech, material.rows, material.settings
        settings = self.settings
        seed = int(stream(settings.seed, "weights").integers(2**31))
        self.network = Network(settings, len(self.speech.speakers), group.device, seed)
        self.optimiser = torch.optim.Adam(
            self.network.parameters, weight_decay=settings.weight_decay, fused=True
        )
        self.step, self.waited, self.stopped = 0, 0, ""
        self.best_loss, self.log = math.inf, []
        if (folder / LAST).exists():
            self._go_on(read_state(folder / LAST, group.device))

    @property
    def per_epoch(self) -> int:
        """Steps of one epoch."""
        return len(self.rows.train) // self.settings.batch_size

    @property
    def last_step(self) -> int | None:
        """The step after which training ends whatever happens, if there is one."""
        limits = [self.settings.max_steps]
        if self.settings.max_epochs is not None:
            limits.append(self.settings.max_epochs * self.per_epoch)
        return min((limit for limit in limits if limit is not None), default=None)

    def run(self, progress: bool = False) -> None:
        """Train until a limit is reached or the development loss stops falling.

        Raises
        ------
        VoicePrivacyError
            If the loss is no longer a number.
        """
        if self.stopped:
            return
        every = self.settings.evaluate_every or self.per_epoch
        own = self.group.shared(self.network.encoder), self.group.shared(self.network.classifier)
        loss, right, done = 0.0, 0.0, 0
        self.network.train(True)
        bar = tqdm(total=self.last_step, initial=self.step, unit="step", disable=not progress)
        with bar:
            for waves, labels in self._batches():
                self.step += 1
                values = self._learn(waves, labels, *own)
                loss, right, done = loss + values[0], right + values[1], done + 1
                bar.update()
                if self.step % every == 0 or self.step == self.last_step:
                    self._evaluate(loss / done, right / done)
                    bar.set_postfix(dev_loss=f"{self.log[-1][5]:.3f}")
                    loss, right, done = 0.0, 0.0, 0
                if self.stopped:
                    return

    def _learn(self, waves, labels, encoder, classifier) -> tuple[float, float]:
        """Do one step; return its loss and the share of speakers named rightly."""
        rate = learning_rate(self.settings, self.step)
        self.optimiser.param_groups[0]["lr"] = rate
        features = self.network.features(waves.to(self.group.device))
        if self.settings.specaugment:
            seed = stream(self.settings.seed, "masks", self.step, self.group.rank)
            features = self.network.masked(features, int(seed.integers(2**31)))
        self.optimiser.zero_grad()
        labels = labels.to(self.group.device)
        loss, right = self.network.loss(features, labels, encoder, classifier)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.network.parameters, self.settings.max_gradient)
        mean = self.group.mean(self.torch.stack([loss.detach(), right / len(labels)])).tolist()
        if not math.isfinite(mean[0]):
            self._give_up()
        self.optimiser.step()
        return mean[0], mean[1]

    def _give_up(self) -> None:
        best = f"the best model so far stays in {BEST}" if self.log else "no model is kept"
        raise VoicePrivacyError(
            f"{self.folder}: the loss is no number at step {self.step}; {best}. Train in a new "
            "folder with a lower learning_rate."
        )

    def _batches(self):
        """Batches of this process, from where training stands to its end."""
        size, part = self.settings.batch_size, slice(self.group.rank, None, self.group.world)
        draws = batches(self.rows.train, size, self.settings.seed, self.step)
        left = None if self.last_step is None else self.last_step - self.step
        return self._loaded(draw[part] for draw in itertools.islice(draws, left))

    def _loaded(self, draws):
        return self.torch.utils.data.DataLoader(
            self.speech,
            batch_sampler=draws,
            num_workers=self.workers,
            pin_memory=self.group.device.type == "cuda",
            generator=self.torch.Generator(),
        )

    def _evaluate(self, train_loss: float, train_accuracy: float) -> None:
        """Measure the development loss, keep what is the best so far, and see whether to stop."""
        dev_loss, dev_accuracy = self.group.told(self._development())
        if not math.isfinite(dev_loss):
            self._give_up()
        epoch = self.step / self.per_epoch
        rate = learning_rate(self.settings, self.step)
        self.log.append(
            [self.step, epoch, rate, train_loss, train_accuracy, dev_loss, dev_accuracy]
        )
        better = dev_loss < self.best_loss
        self.waited = 0 if better else self.waited + 1
        self.best_loss = min(self.best_loss, dev_loss)
        if self.step == self.last_step:
            self.stopped = "limit"
        elif self.waited == self.settings.patience:
            self.stopped = "patience"
        if self.group.rank == 0:
            self._write(better)

    def _development(self) -> tuple[float, float] | None:
        """Loss and accuracy on the development utterances, by the first process."""
        if self.group.rank:
            return None
        crops = fixed_crops(self.rows.dev, self.settings.seed)
        size = self.settings.batch_size
        parts = [crops[k : k + size] for k in range(0, len(crops), size)]
        loss = right = 0.0
        self.network.train(False)
        with self.torch.inference_mode():
            for waves, labels in self._loaded(parts):
                features = self.network.features(waves.to(self.group.device))
                part, named = self.network.loss(features, labels.to(self.group.device))
                loss, right = loss + float(part) * len(labels), right + int(named)
        self.network.train(True)
        return loss / len(crops), right / len(crops)

    def _write(self, better: bool) -> None:
        """Write the log and the checkpoints; the last one last, as it says where to go on."""
        if better:
            own = {"settings": self.settings.as_dict(), "speakers": self.speech.speakers}
            write_state(self.folder / BEST, own | self.network.state())
        with written_whole(self.folder / LOG) as temporary:
            pd.DataFrame(self.log, columns=LOG_COLUMNS).to_csv(temporary, index=False)
        state = {
            "step": self.step,
            "waited": self.waited,
            "stopped": self.stopped,
            "best_loss": self.best_loss,
            "log": self.log,
            "network": self.network.state(),
            "optimiser": self.optimiser.state_dict(),
        }
        write_state(self.folder / LAST, state)

    def _go_on(self, state: dict) -> None:
        for name in ("step", "waited", "stopped", "best_loss", "log"):
            setattr(self, name, state[name])
        self.network.load(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
