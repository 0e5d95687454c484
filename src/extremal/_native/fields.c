/* Texts that lie in a block of bytes, given by where each starts and ends: numbered, read and put together.

   Places are checked here, in the same pass: OUT_OF_PLACE if a text does not lie in the block. */

#include <stdlib.h>
#include <string.h>

#include "native.h"

#define OUT_OF_PLACE (-2)

/* Texts that lie in a block. */
typedef struct {
    const uint8_t *block;
    int64_t size, count;
    const int64_t *starts, *ends;
} texts;

/* Whether [start, end) does not lie in [0, size). */
static bool outside(int64_t start, int64_t end, int64_t size) { return start < 0 || end < start || end > size; }

static uint64_t hash(const uint8_t *text, int64_t length) {
    uint64_t h = (uint64_t)length * UINT64_C(0x9E3779B97F4A7C15);
    for (; length > 0; text += 8, length -= 8) {
        uint64_t word = 0;
        if (length >= 8) {
            memcpy(&word, text, 8);
        } else {
            for (int64_t i = 0; i < length; i++) word |= (uint64_t)text[i] << (8 * i);
        }
        h = (h ^ word) * UINT64_C(0xBF58476D1CE4E5B9);
        h ^= h >> 29;
    }
    h *= UINT64_C(0x94D049BB133111EB);
    return h ^ (h >> 32);
}

/* An open hash table of texts. A slot holds the hash and the text's number plus one; 0 is an empty slot. */
typedef struct {
    uint64_t hash, number;
} slot;

static slot *twice_as_large(slot *old, uint64_t size) {
    slot *table = calloc(2 * size, sizeof *table);
    if (table != NULL) {
        for (uint64_t i = 0; i < size; i++) {
            if (old[i].number == 0) continue;
            uint64_t at = old[i].hash & (2 * size - 1);
            while (table[at].number != 0) at = (at + 1) & (2 * size - 1);
            table[at] = old[i];
        }
    }
    free(old);
    return table;
}

/* Number the different ones among texts in the order in which they first occur: text i has the number
   codes[i], and firsts[c] is the first text with number c. Returns how many there are. */
EXPORT int64_t extremal_number_texts(const texts *t, uint32_t *codes, int64_t *firsts) {
    const uint8_t *block = t->block;
    const int64_t *starts = t->starts, *ends = t->ends;
    uint64_t size = 256, found = 0;
    slot *table = calloc(size, sizeof *table);
    for (int64_t i = 0; i < t->count && table != NULL; i++) {
        if (outside(starts[i], ends[i], t->size)) {
            free(table);
            return OUT_OF_PLACE;
        }
        const uint8_t *text = block + starts[i];
        const int64_t length = ends[i] - starts[i];
        const uint64_t h = hash(text, length);
        uint64_t at = h & (size - 1);
        for (; table[at].number != 0; at = (at + 1) & (size - 1)) {
            if (table[at].hash != h) continue;
            const int64_t other = firsts[table[at].number - 1];
            if (ends[other] - starts[other] == length && memcmp(block + starts[other], text, (size_t)length) == 0) break;
        }
        if (table[at].number == 0) {
            firsts[found++] = i;
            table[at] = (slot){h, found};
            codes[i] = (uint32_t)(found - 1);
            if (2 * found >= size) {
                table = twice_as_large(table, size);
                size *= 2;
            }
        } else {
            codes[i] = (uint32_t)(table[at].number - 1);
        }
    }
    if (table == NULL) return OUT_OF_MEMORY;
    free(table);
    return (int64_t)found;
}

/* What a text is: an integer of at most 18 digits with or without a sign, a text with some ASCII letter, or another. */
enum { SHORT_INTEGER, LETTERED, OTHER };

static uint8_t read_integer(const uint8_t *text, int64_t length, int64_t *number) {
    const bool sign = length > 0 && (text[0] == '+' || text[0] == '-');
    const int64_t digits = length - sign;
    if (digits < 1 || digits > 18) return OTHER;
    int64_t value = 0;
    for (int64_t i = sign; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return OTHER;
        value = 10 * value + (text[i] - '0');
    }
    *number = text[0] == '-' ? -value : value;
    return SHORT_INTEGER;
}

/* The kind of every text, and of short integers the number; of others 0. Returns 0. */
EXPORT int64_t extremal_read_integers(const texts *t, int64_t *numbers, uint8_t *kinds) {
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t start = t->starts[i], end = t->ends[i];
        if (outside(start, end, t->size)) return OUT_OF_PLACE;
        numbers[i] = 0;
        kinds[i] = read_integer(t->block + start, end - start, numbers + i);
        for (int64_t k = start; kinds[i] == OTHER && k < end; k++) {
            const uint8_t letter = t->block[k] | 0x20;
            if (letter >= 'a' && letter <= 'z') kinds[i] = LETTERED;
        }
    }
    return 0;
}

/* Records with other texts in some of their fields. A row of `edges` holds where the record starts in `block`, where each
   of these fields starts and ends, and where the record ends; a row of `chosen` which text takes the place of each. */
typedef struct {
    const uint8_t *block;
    int64_t size, count, fields;
    const int64_t *edges, *chosen;
} records;

/* Copy them, with texts of the pool. Returns the number of bytes written. */
EXPORT int64_t extremal_replace_fields(const records *r, const texts *pool, uint8_t *out, int64_t out_size) {
    const int64_t fields = r->fields, *edges = r->edges, *chosen = r->chosen;
    int64_t at = 0;
    for (int64_t i = 0; i < r->count; i++, edges += 2 * fields + 2, chosen += fields) {
        for (int64_t k = 0; k <= fields; k++) {
            const int64_t start = edges[2 * k], end = edges[2 * k + 1];
            if (outside(start, end, r->size) || end - start > out_size - at) return OUT_OF_PLACE;
            memcpy(out + at, r->block + start, (size_t)(end - start));
            at += end - start;
            if (k == fields) break;
            if (chosen[k] < 0 || chosen[k] >= pool->count) return OUT_OF_PLACE;
            const int64_t first = pool->starts[chosen[k]], last = pool->ends[chosen[k]];
            if (outside(first, last, pool->size) || last - first > out_size - at) return OUT_OF_PLACE;
            memcpy(out + at, pool->block + first, (size_t)(last - first));
            at += last - first;
        }
    }
    return at;
}
