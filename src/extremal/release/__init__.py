"""Releasing data: arrays, frames, files and Spark, one module each, and the ledger of what was released.

Nothing here decides what is released: every interface turns its values into row numbers, lets the sampler
draw, and turns the outcomes back into what came in.
"""
