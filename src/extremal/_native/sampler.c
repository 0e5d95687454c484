/* Exact sampling: alias tables with integer thresholds, and the loop that draws from them. */

#include "native.h"

#define TOTAL ((uint64_t)1 << 62)

/* The next outcome from h on that fills a bucket. There is one whenever it is asked for, because the row's masses
   add up to exactly what the buckets hold. */
static int64_t next_heavy(const uint64_t *w, uint64_t size, int64_t h) {
    while (w[h] < size) h++;
    return h;
}

/* Fill one row's table: 2^b buckets, each an entry threshold * 2^b + alias.

   All buckets hold `size` = 2^(62-b) of the row's 2^62. Bucket j gives outcome j below its threshold and its alias
   from there on. Outcomes with less than `size` are light and give their bucket's rest to the current heavy one, h,
   of which r is left; when r falls below `size`, what is left of h fills its own bucket and the next heavy one gives
   the rest. Nothing is ever negative, and the masses add up to the weights exactly, because every subtraction from
   an outcome is a mass put into a bucket under its name. A full bucket is stored as threshold 0 with itself as its
   alias, so a threshold needs 62-b bits and an entry 62. */
static void build_row(const uint64_t *w, int b, uint64_t *entries) {
    const int64_t buckets = (int64_t)1 << b;
    const uint64_t size = TOTAL >> b;
    for (int64_t j = 0; j < buckets; j++) entries[j] = (uint64_t)j;
    int64_t h = next_heavy(w, size, 0);
    uint64_t r = w[h];
    for (int64_t j = 0; j <= buckets; j++) { /* the last turn settles what is left of the heavy ones */
        if (j < buckets && w[j] >= size) continue;
        while (r < size) {
            int64_t g = next_heavy(w, size, h + 1);
            entries[h] = (r << b) | (uint64_t)g;
            r = w[g] - (size - r);
            h = g;
        }
        if (j == buckets) break;
        entries[j] = (w[j] << b) | (uint64_t)h;
        r -= size - w[j];
    }
}

/* The tables of n rows of m <= 2^b weights. `row` is room for 2^b numbers. Returns the number of rows done: fewer
   than n if one does not add up to 2^62. */
EXPORT int64_t extremal_build(const uint64_t *weights, int64_t n, int64_t m, int b, uint64_t *row,
                              uint64_t *entries) {
    for (int64_t j = m; j < (int64_t)1 << b; j++) row[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t left = TOTAL;
        for (int64_t j = 0; j < m; j++) {
            row[j] = weights[i * m + j];
            if (row[j] > left) return i;
            left -= row[j];
        }
        if (left != 0) return i;
        build_row(row, b, entries + (i << b));
    }
    return n;
}

/* What outcomes are drawn from, and where they go. */
typedef struct {
    const void *codes;       /* unsigned integers of 2^code_size bytes */
    const uint32_t *rows;    /* the row of each code; the last element is that of every code from there on */
    const uint64_t *entries; /* the tables */
    void *out;               /* unsigned integers of 2^out_size bytes */
    int64_t row_count, table_rows; /* all of `rows` are below table_rows */
    int32_t code_size, out_size, b, width;
} drawing;

/* One outcome a record, as `drawing` says; returns the largest row. There is no branch that depends on a secret: both
   outcomes lie in one word, which the comparison shifts. `restrict` lets the compiler draw several at a time; it
   believes it of parameters only. */
#define PARAMETERS                                                                                                   \
    const uint64_t *restrict words, const void *restrict all_codes, int64_t count, const uint32_t *restrict rows,    \
        uint64_t last, const uint64_t *restrict entries, int b, void *restrict all_out

typedef uint32_t draw_loop(PARAMETERS);

#define DRAW(NAME, TARGET, CODE, OUT)                                                                                \
    TARGET static uint32_t NAME(PARAMETERS) {                                                                        \
        const CODE *codes = all_codes;                                                                               \
        OUT *out = all_out;                                                                                          \
        const uint64_t mask = ((uint64_t)1 << b) - 1;                                                                \
        uint32_t largest = 0;                                                                                        \
        for (int64_t i = 0; i < count; i++) {                                                                        \
            const uint64_t word = words[i];                                                                          \
            const uint64_t code = codes[i];                                                                          \
            const uint32_t row = rows[code < last ? code : last];                                                    \
            largest = row > largest ? row : largest;                                                                 \
            const uint64_t bucket = word >> (64 - b);                                                                \
            const uint64_t entry = entries[((uint64_t)row << b) | bucket];                                           \
            const uint64_t above = (word << b) >> (b + 2) >= entry >> b;                                             \
            out[i] = (OUT)(((((entry & mask) << 32) | bucket) >> (above << 5)) & mask);                              \
        }                                                                                                            \
        return largest;                                                                                              \
    }

/* For every pair of types one loop; the table of them is indexed by log2 of the sizes in bytes. */
#define DRAW_CODES(BITS, SUFFIX, TARGET)                                                                             \
    DRAW(draw_##BITS##_8_##SUFFIX, TARGET, uint##BITS##_t, uint8_t)                                                  \
    DRAW(draw_##BITS##_16_##SUFFIX, TARGET, uint##BITS##_t, uint16_t)                                                \
    DRAW(draw_##BITS##_32_##SUFFIX, TARGET, uint##BITS##_t, uint32_t)                                                \
    DRAW(draw_##BITS##_64_##SUFFIX, TARGET, uint##BITS##_t, uint64_t)
#define LOOPS(BITS, SUFFIX)                                                                                          \
    {draw_##BITS##_8_##SUFFIX, draw_##BITS##_16_##SUFFIX, draw_##BITS##_32_##SUFFIX, draw_##BITS##_64_##SUFFIX}
#define DRAW_ALL(SUFFIX, TARGET)                                                                                     \
    DRAW_CODES(8, SUFFIX, TARGET) DRAW_CODES(16, SUFFIX, TARGET)                                                     \
    DRAW_CODES(32, SUFFIX, TARGET) DRAW_CODES(64, SUFFIX, TARGET)                                                    \
    static draw_loop *const loops_##SUFFIX[4][4] = {LOOPS(8, SUFFIX), LOOPS(16, SUFFIX), LOOPS(32, SUFFIX),          \
                                                    LOOPS(64, SUFFIX)};

DRAW_ALL(plain, )

#if defined(__x86_64__)
#include <cpuid.h>

/* Faster by about two where the processor has these instructions and the operating system saves their registers. */
DRAW_ALL(avx2, __attribute__((target("avx2"))))
DRAW_ALL(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))

EXPORT int64_t extremal_widest(void) {
    const unsigned wide = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0x06) != 0x06 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 0;
    return (low & 0xe6) == 0xe6 && (b & wide) == wide ? 2 : 1;
}
#else
#define loops_avx2 loops_plain
#define loops_avx512 loops_plain
EXPORT int64_t extremal_widest(void) { return 0; }
#endif

/* Draw the outcomes of `count` records from `first` on, with instructions up to d->width, which is at most what
   extremal_widest says. Returns the largest row that was met. That `rows` names none that the tables do not have is
   checked before: a large alphabet has more of them than are drawn at a time. */
EXPORT int64_t extremal_draw(const drawing *d, const uint64_t *words, int64_t first, int64_t count) {
    draw_loop *const(*loops)[4] = d->width == 2 ? loops_avx512 : d->width == 1 ? loops_avx2 : loops_plain;
    return loops[d->code_size][d->out_size](words, (const char *)d->codes + (first << d->code_size), count, d->rows,
                                            (uint64_t)(d->row_count - 1), d->entries, d->b,
                                            (char *)d->out + (first << d->out_size));
}
