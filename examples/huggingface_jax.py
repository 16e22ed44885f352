#!/usr/bin/env python3
"""huggingface_jax.py FOLDER: batches of a Hugging Face data set as JAX arrays.

The data set hands out the files' bytes (decode=False) instead of Pillow's pictures; one call decodes
a batch, and JAX takes its memory as it is.
"""

import sys

import datasets
import framewire
import jax
import jax.numpy as jnp


def bytes_of(image):
    """Data sets hold an image's bytes, or the path of its file."""
    if image["bytes"] is not None:
        return image["bytes"]
    with open(image["path"], "rb") as file:
        return file.read()


def batches(dataset, decoder, batch_size=64):
    """Yields arrays of (N, height, width, 3); a file that is no JPEG is left out."""
    raw = dataset.cast_column("image", datasets.Image(decode=False))
    for rows in raw.iter(batch_size):
        batch = decoder.decode([bytes_of(image) for image in rows["image"]])
        for error in filter(None, batch.errors):
            print(f"{rows['image'][error.index]['path']}: {error}", file=sys.stderr)
        images = jnp.from_dlpack(batch.tensor)
        there = jnp.array(batch.ok)
        yield images if there.all() else images[there]


@jax.jit
def brightness(images):
    return images.mean(axis=(1, 2, 3))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    dataset = datasets.load_dataset("imagefolder", data_dir=sys.argv[1], split="train")
    decoder = framewire.TensorDecoder(size=(224, 224), layout="NHWC")
    for images in batches(dataset, decoder):
        print(f"{images.shape} {images.dtype}, brightness {brightness(images)[:4]}, …")


if __name__ == "__main__":
    main()
