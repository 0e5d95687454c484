"""Mechanisms in blocks, as tests write them."""

from extremal.model.blocks import BlockMechanism, Blocks
from extremal.model.labels import check_labels
from extremal.model.mechanism import Mechanism


def in_blocks(prior, numbers, matrix, outputs=None):
    """The mechanism of a small matrix, one row for each block, on the symbols of a prior."""
    blocks = Blocks(prior.labels, numbers)
    names = None if outputs is None else check_labels(outputs, None, "outputs")
    return BlockMechanism(blocks, Mechanism(matrix, blocks.names, names))
