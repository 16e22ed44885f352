"""torchvision's way to the batches of tensor_bench.py."""

import torch
from tensor_bench import MEAN, SIDE, STD
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms.v2 import functional as transforms


def finish(image, crop, dtype):
    """Crop, resize and normalise a decoded image."""
    left, top, width, height = crop
    part = transforms.resized_crop(image, top, left, height, width, [SIDE, SIDE], antialias=True)
    return transforms.normalize(transforms.to_dtype(part, dtype, scale=True), MEAN, STD)


def on_cpu(data, crop):
    return finish(decode_jpeg(data, mode=ImageReadMode.RGB), crop, torch.float32)


def decode_on_device(files):
    return decode_jpeg(files, mode=ImageReadMode.RGB, device="cuda")


def on_device(files, crops, batch):
    """A batch on the GPU; finished one by one, since sizes differ."""
    for i, (image, crop) in enumerate(zip(decode_on_device(files), crops)):
        batch[i] = finish(image, crop, batch.dtype)


def tensors_of(files):
    """The files as torchvision takes them."""
    return [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files]
