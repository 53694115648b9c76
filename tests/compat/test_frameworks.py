"""torchmetrics, Lightning and mmengine themselves, around `Evaluator`: its numbers, whole."""
import io
import re
import warnings

import numpy as np
import pytest

import reid_ref
from reid_ref import compat
from tests.compat.recorded import problems
from tests.documents import ROOT
from tests.installed import version_of

torch = pytest.importorskip("torch")

SEED = 3
FEATURES, PIDS, CAMIDS, N = problems.features(SEED, False)
IMAGES = list(zip(map(torch.from_numpy, FEATURES), PIDS.tolist(), CAMIDS.tolist()))


def evaluated(**settings):
    evaluator = reid_ref.Evaluator(**settings)
    evaluator.update(FEATURES, PIDS, CAMIDS, is_query=np.arange(len(PIDS)) < N)
    return evaluator.compute()


def recipe(name):
    """The class of this name that docs/training_loop.md shows."""
    page = (ROOT / "docs/training_loop.md").read_text()
    code, = [block for block in re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
             if f"class {name}(" in block]
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the packages warn of while they load
        exec(code, names)
    return names[name]


def fill(metric, images):
    """Hand over images in batches of 16, with their places in the dataset."""
    for batch in np.array_split(images, -(-len(images) // 16)):
        metric.update(torch.from_numpy(FEATURES[batch]), identity=torch.from_numpy(PIDS[batch]),
                      camera=torch.from_numpy(CAMIDS[batch]), is_query=torch.from_numpy(batch < N),
                      index=torch.from_numpy(batch))


def numbers(answer):
    return {name: value.item() for name, value in answer.items()}


def expected(result, ranks=(1, 5, 10)):
    return {"mAP": result.mAP, "mINP": result.mINP,
            **{f"Rank-{k}": result.rank(k) for k in ranks}}


class TestTorchmetrics:
    def test_in_a_collection(self):
        """The two metrics have equal states, which a collection stores once."""
        version_of("torchmetrics")
        from torchmetrics import MetricCollection

        collection = MetricCollection({
            "step": compat.torchmetrics.ReIDMetric(convention="torchreid"),
            "trapezoid": compat.torchmetrics.ReIDMetric(metric="cosine")})
        fill(collection, np.arange(len(PIDS)))
        found = numbers(collection.compute())
        for name, settings in (("step", {"convention": "torchreid"}),
                               ("trapezoid", {"metric": "cosine"})):
            for key, value in expected(evaluated(**settings)).items():
                assert found.pop(f"{name}_{key}") == value
        assert found == {}

    def test_its_state_is_saved_loaded_and_moved(self):
        version_of("torchmetrics")
        metric, other = (compat.torchmetrics.ReIDMetric(convention="torchreid") for _ in range(2))
        fill(metric, np.arange(len(PIDS)))
        for each in (metric, other):
            each.persistent(True)
        file = io.BytesIO()
        torch.save(metric.state_dict(), file)
        file.seek(0)
        other.load_state_dict(torch.load(file, weights_only=True))
        other._update_count = 1  # torchmetrics warns of a compute() before any update()
        for each in (metric, other, metric.to("cpu").double()):
            assert numbers(each.compute()) == expected(evaluated(convention="torchreid"))
        assert {state.device.type for state in metric.to("meta").features} == {"meta"}

    @pytest.mark.nightly
    def test_two_processes(self, tmp_path):
        """Both have a third of the images, as where a sampler repeats some."""
        version_of("torchmetrics")
        answers = torch.multiprocessing.get_context("spawn").SimpleQueue()
        # A fork hangs where torch has started threads.
        torch.multiprocessing.start_processes(
            process, (str(tmp_path / "store"), answers), nprocs=2, start_method="spawn")
        whole = expected(evaluated(convention="torchreid"))
        assert [answers.get() for _ in range(2)] == [whole, whole]


def process(rank, store, answers):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    metric = compat.torchmetrics.ReIDMetric(convention="torchreid")
    fill(metric, np.arange(len(PIDS) * 2 // 3) if rank == 0 else np.arange(N, len(PIDS)))
    answers.put(numbers(metric.compute()))
    torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")  # of Lightning: too few workers, no logger
def test_the_callback_of_lightning(tmp_path):
    version_of("lightning")
    callback = recipe("ReIDCallback")()
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))

        def training_step(self, batch, _):
            return (self.scale * batch[0]).sum()

        def validation_step(self, batch, _, dataloader_idx=0):
            pixels, pids, camids = batch
            return pixels, pids, camids

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.)

    loaders = [torch.utils.data.DataLoader(side, batch_size=7) for side in (
        IMAGES[:N], IMAGES[N:])]
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", devices=1, callbacks=[callback], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=tmp_path)
    trainer.fit(Module(), loaders[1], loaders)
    result = evaluated(convention="torchreid")
    assert callback.result.scalars() == result.scalars()
    assert callback.result.signature == result.signature
    assert {name: value.item() for name, value in trainer.callback_metrics.items()} == {
        name: pytest.approx(value, abs=1e-7) for name, value in result.scalars("val/").items()}


@pytest.mark.filterwarnings("ignore")
def test_the_metric_of_mmengine():
    version_of("mmengine")
    from mmengine.evaluator import Evaluator

    evaluator = Evaluator([recipe("ReID")()])
    for start in range(0, len(IMAGES), 16):
        evaluator.process([
            {"feature": feature, "pid": pid, "camid": camid, "is_query": k < N}
            for k, (feature, pid, camid) in enumerate(IMAGES[start:start + 16], start)])
    result = evaluated(convention="torchreid")
    assert evaluator.evaluate(len(IMAGES)) == result.scalars("reid/")


@pytest.mark.filterwarnings("ignore")
def test_the_metric_of_mmtracking_is_one_of_mmengine():
    version_of("mmengine")
    from mmengine.evaluator import BaseMetric, Evaluator

    metric = compat.mmengine.ReIDMetrics(["mAP", "CMC"])
    assert isinstance(metric, BaseMetric)
    evaluator = Evaluator([metric])
    evaluator.process([{"pred_feature": feature, "gt_label": {"label": torch.tensor([pid])}}
                       for feature, pid, _ in IMAGES])
    found = evaluator.evaluate(len(IMAGES))
    alone = compat.mmengine.ReIDMetrics(["mAP", "CMC"])
    alone.process({}, [{"pred_feature": feature, "gt_label": {"label": torch.tensor([pid])}}
                       for feature, pid, _ in IMAGES])
    assert found == {f"reid-metric/{name}": value
                     for name, value in alone.compute_metrics(alone.results).items()}
