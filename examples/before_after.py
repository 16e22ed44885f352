#!/usr/bin/env python3
# %% [markdown]
# # Before and after
#
#     python examples/before_after.py photo.jpg [plots.png]
#
# A notebook as a script: Jupyter (with jupytext), VS Code and Spyder run it cell by cell, Python as a whole.
# It shows a photograph beside what `framewire.resize()` makes of it, what quality costs in bytes and in
# errors, and what a model would see of it: random crops as a training batch.

# %%
import io
import sys

import framewire
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

if not 2 <= len(sys.argv) <= 3:
    sys.exit("usage: before_after.py photo.jpg [plots.png]")
photo = open(sys.argv[1], "rb").read()
plots = sys.argv[2] if len(sys.argv) == 3 else "before_after.png"


def pixels(jpeg):
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))


figure, axes = plt.subplots(3, 4, figsize=(16, 11), layout="constrained")


def show(axis, picture, title):
    axis.imshow(picture, cmap="gray" if picture.ndim == 2 else None)
    axis.set_title(title, fontsize=9)
    axis.axis("off")


# %% [markdown]
# ## One photograph, three ways of making it 480 pixels wide
# `fit` keeps its shape, `fill` cuts it to the box, `force` distorts it.

# %%
[(width, height)] = framewire.sizes([photo])
show(axes[0, 0], pixels(photo), f"before: {width}×{height}, {len(photo) / 1e3:.0f} kB")
for axis, how in zip(axes[0, 1:], ("fit", "fill", "force")):
    made = framewire.resize_with_report(photo, size="480x480", resize=how)
    out = made.report.output
    show(axis, pixels(made.jpeg),
         f"{how}: {out.width}×{out.height}, {len(made) / 1e3:.0f} kB, {made.report.times.total_us / 1e3:.1f} ms")

# %% [markdown]
# ## What quality costs
# Bytes, and how far each is from the same size at quality 100 (PSNR; its picture is the reference).

# %%
qualities = [30, 45, 60, 70, 80, 90, 95]
reference = pixels(framewire.resize(photo, size="480x", quality=100, sampling="444")).astype(float)
with framewire.Engine("turbo") as engine:
    answers = list(engine.map([(photo, {"quality": quality}) for quality in qualities], size="480x"))
kilobytes = [len(answer) / 1e3 for answer in answers]
errors = [np.mean((pixels(answer.jpeg) - reference) ** 2) for answer in answers]
axes[1, 0].plot(kilobytes, [10 * np.log10(255**2 / max(error, 1e-9)) for error in errors], "o-")
for quality, size, error in zip(qualities, kilobytes, errors):
    axes[1, 0].annotate(str(quality), (size, 10 * np.log10(255**2 / max(error, 1e-9))))
axes[1, 0].set(xlabel="kB", ylabel="dB", title="quality: bytes and PSNR")
for axis, at in zip(axes[1, 1:], (0, 3, 5)):
    show(axis, pixels(answers[at].jpeg), f"quality {qualities[at]}: {kilobytes[at]:.1f} kB")

# %% [markdown]
# ## What a model sees
# Four random crops, flipped at random: the same for the same seed, epoch and sample, in any batch.

# %%
decoder = framewire.TensorDecoder(size=(224, 224), dtype="uint8", layout="NHWC")
crops = framewire.random_resized_crops([(width, height)] * 4, seed=42, epoch=0, sample_ids=range(4))
batch = decoder.decode([photo] * 4, crops, framewire.random_flips(seed=42, epoch=0, sample_ids=range(4)))
for axis, sample, crop in zip(axes[2], batch.tensor.numpy(), crops):
    show(axis, sample, "crop at {}, {}: {}×{}".format(*crop))

figure.savefig(plots, dpi=80)
print(f"{plots}: {width}×{height} before; " +
      ", ".join(f"quality {quality} {size:.1f} kB" for quality, size in zip(qualities, kilobytes)))
