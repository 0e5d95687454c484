/* How often each code occurs. */

#include "native.h"

/* Four records at a time, each into a table of its own: equal codes in a row need not wait for one another. `tables`
   has 4 * rows zeros; a code of rows - 1 or more counts as rows - 1. */
#define TALLY(type)                                                                                                   \
    {                                                                                                                 \
        const type *codes = all_codes;                                                                                \
        for (; k + 4 <= count; k += 4)                                                                                \
            for (int64_t j = 0; j < 4; j++) {                                                                         \
                const uint64_t code = codes[k + j];                                                                   \
                tables[j * rows + (int64_t)(code < last ? code : last)]++;                                            \
            }                                                                                                         \
        for (; k < count; k++) {                                                                                      \
            const uint64_t code = codes[k];                                                                           \
            tables[(int64_t)(code < last ? code : last)]++;                                                           \
        }                                                                                                             \
    }                                                                                                                 \
    break;

/* 0, or -1 if no code has that many bytes. */
EXPORT int64_t extremal_tally(const void *all_codes, int64_t code_size, int64_t count, int64_t rows, int64_t *tables) {
    const uint64_t last = (uint64_t)rows - 1;
    int64_t k = 0;
    switch (code_size) {
    case 1: TALLY(uint8_t)
    case 2: TALLY(uint16_t)
    case 4: TALLY(uint32_t)
    case 8: TALLY(uint64_t)
    default: return -1;
    }
    for (int64_t row = 0; row < rows; row++)
        tables[row] += tables[rows + row] + tables[2 * rows + row] + tables[3 * rows + row];
    return 0;
}
