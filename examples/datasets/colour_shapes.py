#!/usr/bin/env python3
"""Colour images of ten kinds of stripes and shapes, in the files of CIFAR-10's binary version.

    python3 examples/datasets/colour_shapes.py FOLDER [SEED]

It is not CIFAR-10, only of its form: 32 x 32, three channels, ten classes, 5,000 images to train on and 1,000 to judge by, for
networks that see shapes where no linear model does. Each image has two colours of its own, either of which may be the brighter one,
a place, a size or a period of its own, light that falls off to one side, and noise. So no pixel says anything by itself.
Whoever has CIFAR-10 gives its folder in the place of this one. The same seed gives the same bytes on every machine.
"""
import pathlib
import random
import sys

SIDE, CLASSES, TRAINED, HELD_OUT = 32, 10, 5000, 1000
NOISE = 48  # a value of a pixel is off by so much at most
CONTRAST_MIN = 70  # sum over the channels of how far the colours of an image are apart


def stripes(draw, along_x, along_y):
    """Of a period from 5 to 9 pixels, where the phase runs along so much of x and y."""
    period, phase = draw.uniform(5, 9), draw.random()
    return lambda x, y: ((along_x * x + along_y * y) / period + phase) % 1 < .5


def checkers(draw):
    size, left, top = draw.randrange(3, 6), draw.randrange(10), draw.randrange(10)
    return lambda x, y: ((x + left) // size + (y + top) // size) % 2 == 0


def placed(draw, shape):
    """A shape of radius 6 to 10 around a place where it fits."""
    radius = draw.randrange(6, 11)
    left, top = draw.randrange(radius, SIDE - radius), draw.randrange(radius, SIDE - radius)
    return lambda x, y: shape(abs(x - left), abs(y - top), radius)


KINDS = [lambda draw: stripes(draw, 0, 1),
         lambda draw: stripes(draw, 1, 0),
         lambda draw: stripes(draw, .7, .7),
         lambda draw: stripes(draw, .7, -.7),
         checkers,
         lambda draw: placed(draw, lambda x, y, r: x * x + y * y <= r * r),
         lambda draw: placed(draw, lambda x, y, r: (.6 * r) ** 2 <= x * x + y * y <= r * r),
         lambda draw: placed(draw, lambda x, y, r: max(x, y) <= .85 * r),
         lambda draw: placed(draw, lambda x, y, r: .5 * r <= max(x, y) <= .85 * r),
         lambda draw: placed(draw, lambda x, y, r: min(x, y) <= .25 * r and max(x, y) <= r)]


def colours(draw):
    while True:
        pair = [[draw.randrange(40, 216) for _ in range(3)] for _ in range(2)]
        if sum(abs(a - b) for a, b in zip(*pair)) >= CONTRAST_MIN:
            return pair


def image(draw, kind):
    """Red, green and blue, row by row, as the format has them."""
    inside = KINDS[kind](draw)
    pair, light_x, light_y = colours(draw), draw.uniform(-1, 1), draw.uniform(-1, 1)
    places = [(1 if inside(x, y) else 0, int(light_x * (x - 16) + light_y * (y - 16))) for y in range(SIDE) for x in range(SIDE)]
    noise = iter(draw.randbytes(3 * SIDE * SIDE))
    return bytes(min(255, max(0, pair[which][channel] + light + (next(noise) * NOISE >> 7) - NOISE))
                 for channel in range(3) for which, light in places)


def batch(draw, count):
    """Records of a label and an image; each class as often as the others, in random order."""
    labels = [i % CLASSES for i in range(count)]
    draw.shuffle(labels)
    return b"".join(bytes([label]) + image(draw, label) for label in labels)


def main(folder, seed=1):
    folder, draw = pathlib.Path(folder), random.Random(int(seed))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data_batch_1.bin").write_bytes(batch(draw, TRAINED))
    (folder / "test_batch.bin").write_bytes(batch(draw, HELD_OUT))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
