"""AES-256 of one block in plain Python, from FIPS 197: slow, and independent of the library that is tested."""


def _times(a, b):
    """The product in GF(2^8)."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a, b = (a << 1) ^ (0x11B if a & 0x80 else 0), b >> 1
    return product


def _substitute(value):
    inverse = next((x for x in range(256) if _times(value, x) == 1), 0)
    turned = 0
    for bit in range(8):
        parity = sum(inverse >> ((bit + k) % 8) & 1 for k in (0, 4, 5, 6, 7)) & 1
        turned |= (parity ^ (0x63 >> bit & 1)) << bit
    return turned


SUBSTITUTES = [_substitute(value) for value in range(256)]


def _round_keys(key):
    words = [key[i : i + 4] for i in range(0, 32, 4)]
    constant = 1
    for i in range(8, 60):
        word = words[-1]
        if i % 8 == 0:
            word = bytes(SUBSTITUTES[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _times(constant, 2)
        elif i % 8 == 4:
            word = bytes(SUBSTITUTES[b] for b in word)
        words.append(bytes(a ^ b for a, b in zip(words[i - 8], word, strict=True)))
    return [b"".join(words[i : i + 4]) for i in range(0, 60, 4)]


def _mixed(column):
    return [
        _times(column[i], 2) ^ _times(column[(i + 1) % 4], 3) ^ column[(i + 2) % 4] ^ column[(i + 3) % 4]
        for i in range(4)
    ]


def aes_256(key, block):
    """The block encrypted."""
    first, *middle, last = _round_keys(key)
    state = [a ^ b for a, b in zip(block, first, strict=True)]
    for round_key in [*middle, last]:
        state = [SUBSTITUTES[state[(5 * i) % 16]] for i in range(16)]  # bytes replaced, rows shifted
        if round_key is not last:
            state = [b for i in range(0, 16, 4) for b in _mixed(state[i : i + 4])]
        state = [a ^ b for a, b in zip(state, round_key, strict=True)]
    return bytes(state)
