"""A training script as users of torchreid write it: made images, a tiny model, one epoch.

Usage: python train_torchreid.py FOLDER

torchvision, cv2 and tensorboard, which torchreid imports, are replaced by the little of them
that is used here where they are not installed.
"""
import importlib.util
import random
import sys
import types
from pathlib import Path

import numpy as np
import torch
from PIL import Image


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class Resize:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        return image.resize(self.size[::-1])


class ToTensor:
    def __call__(self, image):
        return torch.from_numpy(np.asarray(image, np.float32).transpose(2, 0, 1) / 255)


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = (torch.tensor(one).view(-1, 1, 1) for one in (mean, std))

    def __call__(self, tensor):
        return (tensor - self.mean) / self.std


class SummaryWriter:
    def __init__(self, log_dir=None):
        pass

    def add_scalar(self, *_):
        pass

    def close(self):
        pass


def stand_in(package, **modules):
    if importlib.util.find_spec(package) is None:
        for name, contents in modules.items():
            name = name.replace("__", ".")
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__dict__.update(contents)


stand_in("torchvision", torchvision={}, torchvision__transforms={
    "Compose": Compose, "Resize": Resize, "ToTensor": ToTensor, "Normalize": Normalize,
    "ColorJitter": None, "RandomHorizontalFlip": None})
stand_in("cv2", cv2={})
stand_in("tensorboard", torch__utils__tensorboard={"SummaryWriter": SummaryWriter})

from torchreid.reid import data, engine  # noqa: E402


def images(folder):
    """Save 12 people on 3 cameras, 3 images each; the first of a camera is a query."""
    rng = np.random.default_rng(0)
    train, query, gallery = [], [], []
    for pid in range(24):
        look = rng.integers(60, 196, (4, 2, 3))
        for camid in range(3):
            for k in range(3):
                noisy = np.clip(look + rng.normal(0, 45, look.shape), 0, 255).astype(np.uint8)
                path = folder / f"{pid}_{camid}_{k}.png"
                Image.fromarray(np.kron(noisy, np.ones((8, 8, 1), np.uint8))).save(path)
                side = train if pid < 12 else query if k == 0 else gallery
                side.append((str(path), pid, camid))
    return train, query, gallery


class Made(data.ImageDataset):
    def __init__(self, root="", **options):
        folder = Path(root) / "images"
        folder.mkdir(exist_ok=True)
        super().__init__(*images(folder), **options)


class Model(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 4, stride=4), torch.nn.ReLU(), torch.nn.Flatten(),
            torch.nn.Linear(8 * 8 * 4, 16))
        self.classifier = torch.nn.Linear(16, classes)

    def forward(self, pixels):
        features = self.features(pixels)
        return self.classifier(features) if self.training else features


def main(folder):
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data.register_image_dataset("made", Made)
    manager = data.ImageDataManager(
        root=folder, sources="made", height=32, width=16, transforms=[], use_gpu=False,
        batch_size_train=16, batch_size_test=16, workers=0)
    model = Model(manager.num_train_pids)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20)
    training = engine.ImageSoftmaxEngine(
        manager, model, optimizer=optimizer, scheduler=scheduler, use_gpu=False)
    training.run(save_dir=str(Path(folder) / "log"), max_epoch=1, print_freq=1)


if __name__ == "__main__":
    main(sys.argv[1])
